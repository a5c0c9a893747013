"""Progress for Trainer's status server: its format, its rate, and that nothing of it can stop a training."""

from __future__ import annotations

import http.server
import json
import math
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.training.pods import wait_for
from tests.training.subject import load

progress = load("progress")


class Server:
    """An HTTPS server with a certificate of its own that keeps what it is sent."""

    def __init__(self, folder: Path) -> None:
        self.received: list[tuple[str, dict[str, Any]]] = []
        received = self.received

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                received.append((self.headers["Authorization"], json.loads(content)))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_arguments: Any) -> None:
                """Not on the test's output."""

        key, self.ca = folder / "key", folder / "ca.crt"
        request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        names = ["-addext", "subjectAltName=IP:127.0.0.1"]
        subprocess.run([*request, *names, "-keyout", key, "-out", self.ca], check=True, capture_output=True)
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca, key)
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.token = folder / "token"
        self.token.write_text("first\n")
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def env(self) -> dict[str, str]:
        port = self.http.server_address[1]
        return {progress.URL: f"https://127.0.0.1:{port}/status", progress.CA: str(self.ca), progress.TOKEN: str(self.token)}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    if not shutil.which("openssl"):
        pytest.skip("no openssl command to make a certificate with")
    made = Server(tmp_path)
    yield made
    made.http.shutdown()


def test_the_body_is_what_the_server_takes() -> None:
    status = progress.body(33.9, 12.7, {"loss": 0.25, "x" * 80: math.nan})["trainerStatus"]
    assert status.pop("lastUpdatedTime").endswith("Z")
    assert status == {
        "progressPercentage": 33,
        "estimatedRemainingSeconds": 12,
        "metrics": [{"name": "loss", "value": "0.25"}, {"name": "x" * 64, "value": "nan"}],
    }


def test_only_the_newest_counts_and_the_token_is_read_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 1.0)
    reporter = progress.Reporter(server.env(), print)
    reporter.report(1, None, {})
    wait_for(lambda: len(server.received) == 1, "the first report")
    server.token.write_text("second\n")
    for percent in range(2, 50):
        reporter.report(percent, None, {})
    reporter.close()
    wait_for(lambda: server.received[-1][1]["trainerStatus"]["progressPercentage"] == 49, "the last report")
    assert len(server.received) <= 3
    assert [token for token, _ in server.received][:: len(server.received) - 1] == ["Bearer first", "Bearer second"]


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:1/plain", "https://127.0.0.1:1/nobody"])
def test_no_server_harms_nobody(url: str, tmp_path: Path) -> None:
    said: list[str] = []
    reporter = progress.Reporter({progress.URL: url, progress.CA: "/nowhere", progress.TOKEN: str(tmp_path / "no")}, said.append)
    for percent in range(3):
        reporter.report(percent, 1, {"loss": 1.0})
    reporter.close()
    assert len(said) == (1 if url.startswith("https") else 0)
