"""Who we are to a registry: credentials from everywhere, and tokens from a token server, on Debian's docker-registry."""
import base64
import json
import os
import shutil

import pytest

from conftest import run
from serving import Client, serve  # noqa: F401: a fixture
from token_server import token_server  # noqa: F401: a fixture

CHOSEN = ["-c", 2, "-n", 4, "-t", "^(Push Monolith|Pull) 1MB$", "-o", "json"]
SECRETS = ["s:e:c", "czplOmM", "ann-refresh", base64.b64encode(b"ann:s:e:c").decode()]


def bench(plimsoll, url, *options, cwd, check=0, **environment):
    # Nobody's own configuration.
    env = {name: value for name, value in os.environ.items() if name not in ("PLIMSOLL_AUTH", "DOCKER_CONFIG", "HOME")}
    done = run(plimsoll, "bench", *CHOSEN, *options, url, cwd=cwd, check=check, env={**env, **environment})
    assert not any(secret in done.stdout + done.stderr for secret in SECRETS)
    return done


def helper(folder, name, reply):
    """A docker-credential-NAME that knows what it was asked for."""
    program = folder / f"docker-credential-{name}"
    program.write_text(f"#!/bin/sh\ncat > {folder}/asked-{name}\necho \"$1\" >> {folder}/asked-{name}\n{reply}\n")
    program.chmod(0o755)


def config(folder, document):
    (folder / "config.json").write_text(json.dumps(document))
    return {"DOCKER_CONFIG": str(folder)}


KNOWN = "echo '{\"Username\":\"ann\",\"Secret\":\"s:e:c\"}'"
AUTH = base64.b64encode(b"ann:s:e:c").decode()


@pytest.mark.parametrize("source", ["option", "variable", "auth", "names", "store", "helper", "store_without"])
def test_basic_from_every_source(plimsoll, docker_registry, htpasswd, tmp_path, source):
    registry = docker_registry(htpasswd=htpasswd)
    host = f"127.0.0.1:{registry.port}"
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    wrong = {"auths": {host: {"username": "ann", "password": "old"}}}
    options, environment = [], {}
    if source == "option":
        options, environment = ["-A", "ann:s:e:c"], {"PLIMSOLL_AUTH": "ann:old", **config(tmp_path, wrong)}
    elif source == "variable":
        environment = {"PLIMSOLL_AUTH": "ann:s:e:c", **config(tmp_path, wrong)}
    elif source == "auth":
        environment = config(tmp_path, {"auths": {f"http://{host}/v1/": {"auth": AUTH}, "other": {"auth": "bm86cGU="}}})
    elif source == "names":
        environment = config(tmp_path, {"auths": {host: {"username": "ann", "password": "s:e:c"}}})
    elif source == "store":
        helper(tmp_path, "vault", KNOWN)
        environment = {**config(tmp_path, {**wrong, "credsStore": "vault"}), **path}
    elif source == "helper":
        helper(tmp_path, "vault", "exit 1")
        helper(tmp_path, "own", KNOWN)
        environment = {**config(tmp_path, {"credsStore": "vault", "credHelpers": {host: "own"}}), **path}
    else:
        helper(tmp_path, "vault", "echo 'credentials not found in native keychain'; exit 1")
        environment = {**config(tmp_path, {"credsStore": "vault", "auths": {host: {"auth": AUTH}}}), **path}
    record = json.loads(bench(plimsoll, registry.url, *options, cwd=tmp_path, **environment).stdout)
    assert [test["operations"]["ok"] for test in record["tests"]] == [4, 4]
    asked = {"store": "asked-vault", "helper": "asked-own"}.get(source)
    if asked:
        assert (tmp_path / asked).read_text().split() == [host, "get"]


@pytest.mark.parametrize("source", ["option", "identity", "helper_token", "get_refused"])
def test_tokens_from_a_token_server(plimsoll, docker_registry, token_server, tmp_path, source):  # noqa: F811
    registry = docker_registry(extra=token_server.config())
    host = f"127.0.0.1:{registry.port}"
    options, environment = [], {}
    if source == "option":
        options = ["-A", "ann:s:e:c"]
        token_server.fields = ("access_token",)
    elif source == "identity":
        environment = config(tmp_path, {"auths": {host: {"identitytoken": "ann-refresh"}}})
    elif source == "helper_token":
        helper(tmp_path, "vault", "echo '{\"Username\":\"<token>\",\"Secret\":\"ann-refresh\"}'")
        environment = {**config(tmp_path, {"credsStore": "vault"}), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    else:
        options = ["-A", "ann:s:e:c"]
        token_server.refuses_get = True
    record = json.loads(bench(plimsoll, registry.url, *options, cwd=tmp_path, **environment).stdout)
    push, pull = record["tests"]
    for test in (push, pull):
        assert test["operations"]["ok"] == 4 and test["errors"] == []
    # Asked for before the request that needs it: a push meets no 401 after the first.
    tokens = next(step for step in push["steps"] if step["name"] == "token")
    assert tokens["statuses"]["200"] == 4 and tokens["ttfb_s"]["count"] == tokens["count"]
    methods = {method for method, _, _ in token_server.requests}
    assert methods == {"option": {"GET"}, "get_refused": {"GET", "POST"}}.get(source, {"POST"})
    forms = [form for method, form, _ in token_server.requests if method == "POST"]
    grant = {"identity": ["refresh_token"], "helper_token": ["refresh_token"], "get_refused": ["password"]}.get(source)
    assert all(form["grant_type"] == grant and form["service"] == ["registry"] for form in forms)
    scopes = {scope for _, form, _ in token_server.requests for scope in form.get("scope", [])}
    assert any(scope.startswith("repository:plimsoll-") and scope.endswith(":pull,push") for scope in scopes)


def test_a_slow_token_server_shows(plimsoll, docker_registry, token_server, tmp_path):  # noqa: F811
    registry = docker_registry(extra=token_server.config())
    token_server.delay = 0.2
    record = json.loads(bench(plimsoll, registry.url, "-A", "ann:s:e:c", cwd=tmp_path).stdout)
    steps = {step["name"]: step for step in record["tests"][0]["steps"]}
    assert steps["token"]["count"] == 4 and steps["token"]["latency_s"]["min"] >= 0.2
    assert record["tests"][0]["latency_s"]["min"] >= 0.2


def test_wrong_credentials_are_one_line(plimsoll, docker_registry, token_server, htpasswd, tmp_path):  # noqa: F811
    for registry in [docker_registry(extra=token_server.config()), docker_registry(htpasswd=htpasswd)]:
        for given in (["-A", "ann:wrong-one"], []):
            done = bench(plimsoll, registry.url, *given, cwd=tmp_path, check=2)
            assert len(done.stderr.splitlines()) == 1 and "401" in done.stderr
            assert "wrong-one" not in done.stderr + done.stdout


@pytest.mark.parametrize("environment, words", [
    ({"PLIMSOLL_AUTH": "no-colon"}, "PLIMSOLL_AUTH"),
    ({"DOCKER_CONFIG": "broken"}, "config.json"),
    ({"DOCKER_CONFIG": "without"}, "docker-credential-absent"),
])
def test_broken_sources_are_one_line(plimsoll, docker_registry, htpasswd, tmp_path, environment, words):
    for folder, text in [("broken", "{"), ("without", '{"credsStore": "absent"}')]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.json").write_text(text)
    registry = docker_registry(htpasswd=htpasswd)
    done = bench(plimsoll, registry.url, cwd=tmp_path, check=2, **environment)
    assert len(done.stderr.splitlines()) == 1 and words in done.stderr, done.stderr


def test_short_lived_tokens_are_renewed(plimsoll, serve, tmp_path):  # noqa: F811
    """They end before their time is said to be over: one 401 renews, and the whole request goes again."""
    server = serve("--token-auth", "--token-lifetime", "1s", "--fault", "route=blob; method=GET; latency=150ms")
    test = json.loads(run(plimsoll, "bench", "-c", 4, "-n", 48, "-t", "^Pull 1MB$", "-o", "json", server.url, cwd=tmp_path,
                          check=0).stdout)["tests"][0]
    assert test["operations"]["ok"] == 48 and test["errors"] == []
    notes = {note["kind"]: note["count"] for note in test["notes"]}
    refused = sum(step["statuses"].get("401", 0) for step in test["steps"])
    assert notes["reauthorized"] >= 4 and refused >= notes["reauthorized"]


def test_nothing_secret_goes_to_where_blobs_are_stored(plimsoll, serve, htpasswd, tmp_path):  # noqa: F811
    """Blobs are at a second origin, which refuses requests that carry Authorization."""
    root = tmp_path / "data"
    first = serve("--root", root)
    Client(first.port).push_image("app", "1", os.urandom(5000))
    first.end()
    shutil.copytree(root, tmp_path / "storage")
    storage = serve("--root", tmp_path / "storage", "--read-only", "--fault", "reject_authorization")
    registry = serve("--root", root, "--token-auth", "--htpasswd", htpasswd, "--fault",
                     f"route=blob; method=GET; redirect={storage.url}")
    done = run(plimsoll, "bench", "--images", "app:1", registry.url, "-A", "ann:s:e:c", "-n", 4, "-o", "json", cwd=tmp_path,
               check=0)
    test = json.loads(done.stdout)["tests"][0]
    steps = {step["name"]: step["statuses"] for step in test["steps"]}
    assert test["operations"]["ok"] == 4 and steps["storage"] == {"200": 8}
    assert steps["layer GET"] == {"307": 4} and steps["token"] == {"200": 4}
    assert not any(secret in done.stdout + done.stderr for secret in SECRETS)
