"""What stands between a client and a registry in the world: a token server, nginx in front, storage of another origin."""
import base64
import contextlib
import http.server
import json
import os
import pathlib
import secrets
import shutil
import subprocess
import threading
import time
import urllib.parse

import pytest

from conftest import end, free_port, run, wait_for_port

USER, PASSWORD = "ann", "s:e:c"
SERVICE, ISSUER = "registry.test", "tokens.test"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class TokenServer:
    """The distribution project's token server: RS256 tokens, signed by openssl, for whoever knows the password."""

    def __init__(self, folder, delay=0.0):
        self.folder, self.delay = folder, delay
        self.key, self.certificate = folder / "token.key", folder / "token.pem"
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tokens", "-keyout",
            self.key, "-out", self.certificate, check=0)
        der = run("openssl", "x509", "-in", self.certificate, "-outform", "DER", "-out", folder / "token.der", check=0)
        assert der.returncode == 0
        chain = base64.b64encode((folder / "token.der").read_bytes()).decode()
        self.header = base64url(json.dumps({"typ": "JWT", "alg": "RS256", "x5c": [chain]}).encode())
        self.asked = []  # (method, query, whether the password was right)
        self.given = []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                owner.answer(self)

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                owner.asked.append(("POST", {}, False))
                self.send_error(404)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(request.path).query)
        expected = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        good = request.headers.get("Authorization") == expected
        self.asked.append(("GET", query, good))
        time.sleep(self.delay)
        token = self.sign(query.get("scope", [])) if good else ""
        body = json.dumps({"token": token, "expires_in": 300} if good else {"details": "incorrect username or password"}).encode()
        request.send_response(200 if good else 401)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def sign(self, scopes):
        access = []
        for scope in " ".join(scopes).split():
            kind, name, actions = scope.split(":")
            access.append({"type": kind, "name": name, "actions": actions.split(",")})
        now = int(time.time())
        claims = {"iss": ISSUER, "sub": USER, "aud": SERVICE, "iat": now, "nbf": now - 10, "exp": now + 300,
                  "jti": secrets.token_hex(8), "access": access}
        signed = f"{self.header}.{base64url(json.dumps(claims).encode())}"
        done = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(self.key)], input=signed.encode(),
                              capture_output=True, check=True, timeout=20)
        self.given.append(f"{signed}.{base64url(done.stdout)}")
        return self.given[-1]

    def auth(self, realm):
        return {"token": {"realm": realm, "service": SERVICE, "issuer": ISSUER, "rootcertbundle": str(self.certificate)}}

    def end(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def token_server(tmp_path):
    """token_server(delay=0) -> TokenServer"""
    running = []

    def start(delay=0.0):
        folder = tmp_path / f"tokens-{len(running)}"
        folder.mkdir()
        running.append(TokenServer(folder, delay))
        return running[-1]

    yield start
    for server in running:
        server.end()


class Nginx:
    """nginx with the given server blocks; its access log has what a client told it."""

    def __init__(self, folder, port, servers):
        program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin")
        assert program, "nginx is not installed: run scripts/setup"
        self.folder = folder
        (folder / "nginx.conf").write_text(f"""
{"user root;" if os.getuid() == 0 else ""} daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 512; }}
http {{
  log_format told '$server_port $request_method $request_uri $status [$http_authorization] [$http_cookie] [$http_host]';
  access_log {folder}/access.log told;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  client_max_body_size 0; proxy_http_version 1.1; chunked_transfer_encoding on;
  {servers}
}}""")
        self.process = subprocess.Popen([program, "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_port(port, self.process)

    def log(self, port):
        """Lines of what was asked at that port, when all of them are written."""
        end(self.process)
        lines = pathlib.Path(self.folder / "access.log").read_text().splitlines()
        return [line.split(" ", 1)[1] for line in lines if line.startswith(f"{port} ")]

    def end(self):
        if self.process.poll() is None:
            end(self.process)


@pytest.fixture
def nginx_in_front(tmp_path):
    """nginx_in_front(port to wait for, servers) -> Nginx"""
    running = []

    def start(port, servers):
        folder = tmp_path / f"nginx-{len(running)}"
        folder.mkdir()
        running.append(Nginx(folder, port, servers))
        return running[-1]

    yield start
    for server in running:
        with contextlib.suppress(ProcessLookupError):
            server.end()


def passes_to(port):
    """A location's body that hands everything on to a registry as registries' own manuals say."""
    return (f"proxy_pass http://127.0.0.1:{port}; proxy_set_header Host $http_host; "
            "proxy_set_header X-Forwarded-Proto $scheme; proxy_request_buffering off; proxy_buffering off;")


def tls_server(port, certificate, body):
    _, cert, key = certificate
    return f"server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {cert}; ssl_certificate_key {key}; {body} }}"
