"""docker-registry as it stands in the world: tokens from a server of their own, TLS by nginx, blobs from another origin."""
import base64
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import end, free_port, run, wait_for_port
from proxies import (PASSWORD, SERVICE, USER, nginx_in_front, passes_to, tls_server,  # noqa: F401 (fixtures)
                     token_server)

TESTS = "^(Push Monolith|Push Chunk Streamed|Pull) 1MB$"
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


def bench(plimsoll, url, *options, cwd, check=0, tests=TESTS):
    done = run(plimsoll, "bench", "-c", 2, "-n", 6, "-t", tests, *options, "-o", "json=r.json", url, cwd=cwd, check=check)
    found = json.loads((cwd / "r.json").read_text())["tests"] if check != 2 else []
    for test in found:
        assert test["operations"] == {"started": 6, "ok": 6, "failed": 0, "aborted": 0}, (test["name"], test["errors"])
        assert test["errors"] == [], test["name"]
    return done, found


def statuses(test, step):
    return next((s["statuses"] for s in test["steps"] if s["name"] == step), {})


class Deployment:
    """docker-registry with tokens, nginx in front of it and of the token server, and storage behind a third port."""

    def __init__(self, docker_registry, tokens, nginx, certificate):
        self.front, self.storage = free_port(), free_port()
        self.url = f"https://127.0.0.1:{self.front}"
        self.tokens = tokens
        # Signed URLs of object storage are refused with an Authorization beside the signature.
        self.registry = docker_registry(storage="disk", extra={
            "auth": tokens.auth(f"{self.url}/token"),
            "middleware": {"storage": [{"name": "redirect", "options": {"baseurl": f"https://127.0.0.1:{self.storage}"}}]}})
        self.nginx = nginx(self.front, tls_server(self.front, certificate, f"""
            location /v2/ {{ {passes_to(self.registry.port)} }}
            location /token {{ proxy_pass http://127.0.0.1:{tokens.port}; }}""")
            + tls_server(self.storage, certificate, f"""
            if ($http_authorization) {{ return 400; }}
            root {self.registry.root};"""))


@pytest.fixture
def deployment(docker_registry, token_server, nginx_in_front, certificate):
    return lambda delay=0.0: Deployment(docker_registry, token_server(delay), nginx_in_front, certificate)


def test_tokens_tls_and_storage_of_another_origin(plimsoll, deployment, certificate, tmp_path):
    place = deployment()
    done, tests = bench(plimsoll, place.url, "-A", f"{USER}:{PASSWORD}", "--cacert", certificate[0], cwd=tmp_path)
    monolith, streamed, pull = tests
    assert statuses(monolith, "layer PUT") == {"201": 6} and statuses(streamed, "layer PATCH") == {"202": 6}
    # A repository's token is asked for once, and the asking is a step of its own.
    for push in (monolith, streamed):
        assert statuses(push, "token").keys() == {"200"}
        assert statuses(push, "upload POST").get("401", 0) <= 2  # each worker's first; then tokens are fetched ahead
    # Blobs come from storage: a hop of its own, and HEADs are not sent there.
    assert statuses(pull, "layer GET") == {"307": 6} and statuses(pull, "storage") == {"200": 12}
    assert pull["bytes"]["body_received"] > 6 << 20
    # What the token server heard.
    asked = [query for method, query, good in place.tokens.asked if good]
    assert len(asked) == len(place.tokens.asked)
    assert all(query["service"] == [SERVICE] and query.get("account") == [USER] for query in asked)
    scopes = {scope for query in asked for scope in query.get("scope", [])}
    assert all(re.fullmatch(r"repository:plimsoll-[0-9a-f]+-\d+-\d+:(pull|pull,push|\*)", scope) for scope in scopes), scopes
    # Nothing secret reached storage, the record, or the console.
    stored = place.nginx.log(place.storage)
    assert len(stored) == 12
    for line in stored:
        assert re.fullmatch(rf"GET /docker/registry/v2/blobs/sha256/\S+/data 200 \[-\] \[-\] \[127.0.0.1:{place.storage}\]", line), line
    told = done.stdout + done.stderr + (tmp_path / "r.json").read_text()
    for secret in [PASSWORD, BASIC, *(token.rsplit(".", 1)[1] for token in place.tokens.given)]:
        assert secret not in told
    # Each token went to the registry alone.
    assert len(place.tokens.given) == len(asked)


def test_a_slow_token_server_shows(plimsoll, deployment, certificate, tmp_path):
    place = deployment(delay=0.2)
    _, [push] = bench(plimsoll, place.url, "-A", f"{USER}:{PASSWORD}", "--cacert", certificate[0], cwd=tmp_path,
                      tests="^Push Monolith 1MB$")
    latency = {s["name"]: s["latency_s"] for s in push["steps"]}
    assert latency["token"]["min"] >= 0.2
    # The requests that the tokens are for don't carry that wait; the operation does.
    assert latency["upload POST"]["p50"] < 0.2 <= push["latency_s"]["p50"]


def test_wrong_credentials_end_before_the_run(plimsoll, deployment, certificate, tmp_path):
    place = deployment()
    done, _ = bench(plimsoll, place.url, "-A", f"{USER}:wrong-one", "--cacert", certificate[0], cwd=tmp_path, check=2)
    assert len(done.stderr.splitlines()) == 1 and "wrong-one" not in done.stderr + done.stdout
    assert any(not good for _, _, good in place.tokens.asked)


def test_credentials_of_docker_and_of_the_environment(plimsoll, deployment, certificate, tmp_path):
    place = deployment()
    config = tmp_path / "docker"
    config.mkdir()
    (config / "config.json").write_text(json.dumps({"auths": {f"127.0.0.1:{place.front}": {"auth": BASIC}}}))
    for environment in ({"DOCKER_CONFIG": str(config)}, {"PLIMSOLL_AUTH": f"{USER}:{PASSWORD}"}):
        run(plimsoll, "bench", "-n", 2, "-t", "^Pull 1MB$", "--cacert", certificate[0], "--quiet", place.url, cwd=tmp_path,
            check=0, env={**os.environ, **environment})


@pytest.mark.parametrize("status", [307, 308])
def test_a_front_that_redirects_to_tls(plimsoll, docker_registry, nginx_in_front, certificate, tmp_path, status):
    """Every request, uploads with their bodies included, is sent on to another scheme and port."""
    registry = docker_registry()
    plain, secure = free_port(), free_port()
    nginx = nginx_in_front(secure, f"server {{ listen 127.0.0.1:{plain}; location / {{ return {status} https://127.0.0.1:{secure}$request_uri; }} }}"
                           + tls_server(secure, certificate, f"location / {{ {passes_to(registry.port)} }}"))
    _, tests = bench(plimsoll, f"http://127.0.0.1:{plain}", "-A", f"{USER}:{PASSWORD}", "--cacert", certificate[0], cwd=tmp_path)
    for test in tests:
        assert statuses(test, "manifest PUT" if "Push" in test["name"] else "manifest GET")[str(status)] == 6
    assert registry.leftovers() == []
    assert all(" [-] [-] " in line for line in nginx.log(secure))


def test_a_front_that_moves_paths(plimsoll, docker_registry, token_server, nginx_in_front, certificate, tmp_path):
    """Redirects within the registry's own origin keep its token: relative ones, to a path that the front knows."""
    tokens = token_server()
    front = free_port()
    registry = docker_registry(extra={"auth": tokens.auth(f"http://127.0.0.1:{front}/token"), "http": {"relativeurls": True}})
    nginx_in_front(front, f"""server {{ listen 127.0.0.1:{front}; absolute_redirect off;
        location ~ ^/v2/.+/(blobs|manifests)/sha256: {{ if ($request_method = GET) {{ return 302 /moved$request_uri; }} {passes_to(registry.port)} }}
        location /moved/ {{ rewrite ^/moved(.*)$ $1 break; {passes_to(registry.port)} }}
        location /token {{ proxy_pass http://127.0.0.1:{tokens.port}; }}
        location / {{ {passes_to(registry.port)} }} }}""")
    _, tests = bench(plimsoll, f"http://127.0.0.1:{front}", "-A", f"{USER}:{PASSWORD}", cwd=tmp_path)
    assert statuses(tests[-1], "layer GET") == {"302": 6} and statuses(tests[-1], "storage") == {"200": 12}


def test_zot(plimsoll, tmp_path):
    program = shutil.which("zot")
    if program is None:
        pytest.skip("zot is not on the PATH")
    port = free_port()
    (tmp_path / "zot.json").write_text(json.dumps({
        "distSpecVersion": "1.1.0", "storage": {"rootDirectory": str(tmp_path / "zot"), "gc": False},
        "http": {"address": "127.0.0.1", "port": str(port)}, "log": {"level": "error"}}))
    process = subprocess.Popen([program, "serve", str(tmp_path / "zot.json")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_port(port, process)
        bench(plimsoll, f"http://127.0.0.1:{port}", cwd=tmp_path)
        run(plimsoll, "doctor", f"http://127.0.0.1:{port}", cwd=tmp_path, check=0)
    finally:
        end(process)
