"""Fixtures of the end-to-end tests: the built program, and real peers on free loopback ports.

Every server that is started picks a free port, is waited for, and ends with its test.
"""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def plimsoll():
    program = os.environ.get("PLIMSOLL", str(ROOT / "build" / "release" / "plimsoll"))
    assert os.access(program, os.X_OK), f"{program} is not built: run scripts/build"
    return program


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert process.poll() is None, f"{process.args[0]} ended with {process.returncode} before it listened"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return
        time.sleep(0.02)
    raise AssertionError(f"{process.args[0]} did not listen on {port} in {seconds} s")


def end(process):
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(5)


def run(*command, timeout=120, check=None, **kwargs):
    """Runs a program to its end; with check, its exit code must be that."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout, **kwargs)
    if check is not None:
        assert done.returncode == check, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


class Registry:
    """A docker-registry (CNCF Distribution) of the test's own."""

    def __init__(self, port, scheme, process, root):
        self.port = port
        self.scheme = scheme
        self.url = f"{scheme}://127.0.0.1:{port}"
        self.process = process
        self.root = root

    def get(self, path, headers=None):
        request = urllib.request.Request(self.url + path, headers=headers or {})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def leftovers(self, prefix="plimsoll-"):
        """Repositories of ours that still have a tag."""
        left = []
        for name in self.get("/v2/_catalog?n=1000")["repositories"] or []:
            if prefix not in name:
                continue
            try:
                tags = self.get(f"/v2/{name}/tags/list")["tags"]
            except urllib.error.HTTPError as error:
                assert error.code == 404
                tags = None
            if tags:
                left.append(f"{name}:{tags}")
        return left


@pytest.fixture
def docker_registry(tmp_path):
    """docker_registry(storage="inmemory"|"disk", delete=True, tls=None, htpasswd=None, extra={}) -> Registry"""
    program = shutil.which("docker-registry")
    assert program, "docker-registry is not installed: run scripts/setup"
    running = []

    def start(storage="inmemory", delete=True, tls=None, htpasswd=None, extra=None):
        port = free_port()
        folder = tmp_path / f"registry-{port}"
        folder.mkdir()
        root = folder / "data"
        config = {
            "version": "0.1",
            "log": {"level": "error", "accesslog": {"disabled": True}},
            "storage": {
                **({"inmemory": {}} if storage == "inmemory" else {"filesystem": {"rootdirectory": str(root)}}),
                "delete": {"enabled": delete},
                "maintenance": {"uploadpurging": {"enabled": False}},
            },
            "http": {"addr": f"127.0.0.1:{port}"},
        }
        if tls:
            config["http"]["tls"] = {"certificate": str(tls[0]), "key": str(tls[1])}
        if htpasswd:
            config["auth"] = {"htpasswd": {"realm": "test", "path": str(htpasswd)}}
        for key, value in (extra or {}).items():
            config.setdefault(key, {}).update(value)
        # JSON is YAML.
        (folder / "config.yml").write_text(json.dumps(config))
        log = open(folder / "log", "w")
        process = subprocess.Popen([program, "serve", str(folder / "config.yml")], stdout=log, stderr=log)
        running.append((process, log))
        wait_for_port(port, process)
        return Registry(port, "https" if tls else "http", process, root)

    yield start
    for process, log in running:
        end(process)
        log.close()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A CA and a certificate for 127.0.0.1, ::1 and localhost: (ca.pem, cert.pem, key.pem)."""
    folder = tmp_path_factory.mktemp("tls")
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=test CA", "-keyout", folder / "ca.key", "-out", folder / "ca.pem", check=0)
    run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-subj", "/CN=localhost", "-keyout", folder / "key.pem", "-out", folder / "req.pem", check=0)
    (folder / "ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\n")
    run("openssl", "x509", "-req", "-in", folder / "req.pem", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key",
        "-CAcreateserial", "-days", "2", "-extfile", folder / "ext", "-out", folder / "cert.pem", check=0)
    return folder / "ca.pem", folder / "cert.pem", folder / "key.pem"


@pytest.fixture(scope="session")
def htpasswd(tmp_path_factory):
    """An htpasswd file (bcrypt) for user `ann` with the password `s:e:c`."""
    file = tmp_path_factory.mktemp("auth") / "htpasswd"
    run("htpasswd", "-Bbc", file, "ann", "s:e:c", check=0)
    return file
