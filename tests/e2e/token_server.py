"""A small token server (distribution's token authentication), for registries that ask for Bearer tokens.

Tokens are JSON Web Tokens signed with RS256, as Debian's docker-registry checks them. Everything that was asked is
kept in `requests`: (method, parameters, Authorization).
"""
import base64
import http.server
import json
import subprocess
import threading
import time
import urllib.parse
import uuid

import pytest

from conftest import free_port, run


def encoded(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


class TokenServer:
    def __init__(self, folder, users, refresh_tokens):
        self.users, self.refresh_tokens = users, refresh_tokens
        self.requests = []
        self.delay, self.fields, self.issuer, self.service = 0, ("token",), "plimsoll-test", "registry"
        self.refuses_get = False
        self.port = free_port()
        self.realm = f"http://127.0.0.1:{self.port}/token"
        self.key, self.certificate = folder / "token.key", folder / "token.pem"
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=token server",
            "-keyout", self.key, "-out", self.certificate, check=0)
        lines = self.certificate.read_text().splitlines()
        self.chain = "".join(line for line in lines if not line.startswith("-----"))
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                server.handle(self, urllib.parse.urlsplit(self.path).query)

            def do_POST(self):
                server.handle(self, self.rfile.read(int(self.headers["Content-Length"])).decode())

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def end(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join(5)

    def config(self):
        """What docker-registry is told of it."""
        return {"auth": {"token": {"realm": self.realm, "service": self.service, "issuer": self.issuer,
                                   "rootcertbundle": str(self.certificate)}}}

    def user_of(self, method, form, authorization):
        if form.get("grant_type") == ["refresh_token"]:
            return self.refresh_tokens.get(form["refresh_token"][0])
        name, password = form.get("username", [""])[0], form.get("password", [""])[0]
        if method == "GET" and authorization.startswith("Basic "):
            name, _, password = base64.b64decode(authorization[6:]).decode().partition(":")
        return name if name and self.users.get(name) == password else None

    def handle(self, request, text):
        form = urllib.parse.parse_qs(text)
        authorization = request.headers.get("Authorization", "")
        self.requests.append((request.command, form, authorization))
        time.sleep(self.delay)
        user = self.user_of(request.command, form, authorization)
        if (request.command == "GET" and self.refuses_get) or user is None:
            return self.answer(request, 401, {"errors": [{"code": "UNAUTHORIZED", "message": "no such user"}]})
        scopes = [scope for value in form.get("scope", []) for scope in value.split()]
        token = self.token(user, scopes)
        self.answer(request, 200, {**{field: token for field in self.fields}, "expires_in": 300})

    def answer(self, request, status, document):
        body = json.dumps(document).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def token(self, user, scopes):
        access = []
        for scope in scopes:
            kind, rest = scope.split(":", 1)
            name, actions = rest.rsplit(":", 1)
            access.append({"type": kind, "name": name, "actions": actions.split(",")})
        now = int(time.time())
        head = {"typ": "JWT", "alg": "RS256", "x5c": [self.chain]}
        claims = {"iss": self.issuer, "sub": user, "aud": self.service, "exp": now + 300, "nbf": now - 10, "iat": now,
                  "jti": uuid.uuid4().hex, "access": access}
        signed = f"{encoded(json.dumps(head).encode())}.{encoded(json.dumps(claims).encode())}"
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(self.key)], input=signed.encode(),
                                   capture_output=True, check=True).stdout
        return f"{signed}.{encoded(signature)}"


@pytest.fixture
def token_server(tmp_path):
    """A running TokenServer that knows `ann` (s:e:c) and one refresh token of hers."""
    server = TokenServer(tmp_path, {"ann": "s:e:c"}, {"ann-refresh": "ann"})
    yield server
    server.end()
