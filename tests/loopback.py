"""A service on the loopback that answers as it is told and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pytest_socket import socket_allow_hosts

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
Reply = tuple[int, dict[str, str], bytes]
Answer = Callable[[dict[str, Any]], Any]


class Service:
    """Answers with what `answer(body)` makes of a request, JSON or bytes, after the `first` replies."""

    def __init__(self, answer: Answer, path: str) -> None:
        self.answer = answer
        self.first: list[Reply] = []
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.most = self._now = 0
        self._lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, headers, sent = service._reply(body, dict(self.headers), self.path)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(sent))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self.server.server_port}{path}"

    def _reply(self, body: dict[str, Any], headers: dict[str, str], path: str) -> Reply:
        with self._lock:
            self.asked.append(body)
            self.headers.append(headers)
            self.paths.append(path)
            self._now += 1
            self.most = max(self.most, self._now)
            first = self.first.pop(0) if self.first else None
        try:
            if first is not None:
                return first
            found = self.answer(body)
            return 200, {}, found if isinstance(found, bytes) else json.dumps(found).encode()
        finally:
            with self._lock:
                self._now -= 1


@contextmanager
def serving(answer: Answer, path: str) -> Iterator[Service]:
    """A service that runs as long as the block; for a test that may open sockets."""
    socket_allow_hosts(["127.0.0.1"])
    found = Service(answer, path)
    thread = threading.Thread(target=found.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield found
    finally:
        found.server.shutdown()
        found.server.server_close()
        thread.join()
