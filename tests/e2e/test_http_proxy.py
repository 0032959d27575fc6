"""`plimsoll http` through a proxy, from the environment and from -X."""
import base64
import json
import os
import re
import socket
import threading

import pytest

from conftest import run
from serving import serve  # noqa: F401 (a fixture)

BASIC = "Basic " + base64.b64encode(b"ann:s:e").decode()


class Proxy:
    """Forwards plain requests and tunnels. Keeps the request lines and what Proxy-Authorization said."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lines, self.authorization, self.refuse = [], [], None
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            received = b""
            while b"\r\n\r\n" not in received:
                piece = client.recv(65536)
                if not piece:
                    return
                received += piece
            line = received.split(b"\r\n")[0].decode()
            found = re.search(rb"\r\nProxy-Authorization: ([^\r]*)", received)
            self.lines.append(line)
            self.authorization.append(found[1].decode() if found else None)
            if self.refuse is not None:
                client.sendall(self.refuse)
                return
            method, target, _ = line.split(" ")
            host, port = re.search(r"([^/:]+):(\d+)", target).groups()
            with socket.create_connection((host, int(port)), 10) as origin:
                if method == "CONNECT":
                    client.sendall(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 test\r\n\r\n")
                else:
                    origin.sendall(received)
                self.pump(client, origin)

    @staticmethod
    def pump(client, origin):
        def copy(source, sink):
            try:
                while piece := source.recv(65536):
                    sink.sendall(piece)
            except OSError:
                pass
            for one in (source, sink):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

        back = threading.Thread(target=copy, args=(origin, client), daemon=True)
        back.start()
        copy(client, origin)
        back.join(10)


@pytest.fixture
def proxy():
    one = Proxy()
    yield one
    one.listener.close()


def load(plimsoll, *options, cwd, environment, check=0):
    clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return run(plimsoll, "http", "-q", *options, "--result", "r.json", cwd=cwd, check=check, env={**clean, **environment})


def record(folder):
    return json.loads((folder / "r.json").read_text())


def test_plain_requests_carry_the_whole_url(plimsoll, serve, proxy, tmp_path):
    origin = serve()
    load(plimsoll, "-n", 6, "-c", 2, f"{origin.url}/v2/?a=b", cwd=tmp_path,
         environment={"http_proxy": f"http://ann:s%3Ae@127.0.0.1:{proxy.port}"})
    # One request reaches the proxy a connection: it hands on what follows as it comes.
    assert set(proxy.lines) == {f"GET {origin.url}/v2/?a=b HTTP/1.1"}
    assert set(proxy.authorization) == {BASIC}
    test = record(tmp_path)["tests"][0]
    assert test["statuses"] == {"200": 6}
    assert test["details"]["document_path"] == "/v2/?a=b"


@pytest.mark.parametrize("by", ["HTTPS_PROXY", "all_proxy", "-X"])
def test_tls_goes_through_a_tunnel(plimsoll, serve, proxy, certificate, tmp_path, by):
    origin = serve("--tls-cert", certificate[1], "--tls-key", certificate[2])
    address = f"ann:s%3Ae@127.0.0.1:{proxy.port}"
    options = ["-X", address] if by == "-X" else []
    load(plimsoll, *options, "-n", 20, "-c", 4, "--cacert", certificate[0], f"{origin.url}/v2/", cwd=tmp_path,
         environment={} if options else {by: address})
    assert proxy.lines == [f"CONNECT {origin.host} HTTP/1.1"] * 4
    assert set(proxy.authorization) == {BASIC}
    test = record(tmp_path)["tests"][0]
    assert test["statuses"] == {"200": 20} and test["connections"]["opened"] == 4
    assert record(tmp_path)["targets"][0]["tls"].startswith("TLSv1.")


def test_no_proxy_is_spared(plimsoll, serve, proxy, tmp_path):
    origin = serve()
    for spared in ("127.0.0.1", f"a.example,127.0.0.1:{origin.port}", "*"):
        load(plimsoll, "-n", 2, f"{origin.url}/v2/", cwd=tmp_path,
             environment={"all_proxy": f"127.0.0.1:{proxy.port}", "NO_PROXY": spared})
    assert proxy.lines == []


@pytest.mark.parametrize("answer, kind, words", [
    (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "unexpected_status", "407"),
    (b"HTTP/1.1 200 OK\r\n\r\nSSH-2.0-surprise\r\n", "protocol", "tunnel"),
    (b"", "closed", "closed"),
    (b"220 mail ready\r\n", "protocol", "not an HTTP/1 response"),
])
def test_a_refused_tunnel_is_classified(plimsoll, proxy, tmp_path, answer, kind, words):
    proxy.refuse = answer
    load(plimsoll, "-n", 2, "https://127.0.0.1:9/", cwd=tmp_path, check=2,
         environment={"https_proxy": f"127.0.0.1:{proxy.port}"})
    errors = record(tmp_path)["tests"][0]["errors"]
    assert [(error["kind"], error["count"]) for error in errors] == [(kind, 2)]
    assert words in errors[0]["sample"]["text"]


@pytest.mark.parametrize("options, environment, words", [
    (["-X", "https://p:1"], {}, "--proxy"),
    ([], {"https_proxy": "socks5://127.0.0.1:1"}, "https_proxy"),
])
def test_bad_proxies_are_refused(plimsoll, tmp_path, options, environment, words):
    done = load(plimsoll, *options, "https://127.0.0.1:9/", cwd=tmp_path, check=2, environment=environment)
    assert len(done.stderr.splitlines()) == 1 and words in done.stderr
