"""A web server on this machine that serves files as well, or as badly, as a test wishes."""

from __future__ import annotations

import base64
import hashlib
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["FileServer", "Served", "serving"]

ENDLESS = 50
"""How often a file is sent once more that does not end; nobody should wait for it."""


@dataclass
class Served:
    """A file, and how it is served."""

    content: bytes
    version: str = '"1"'
    """its `ETag`; "" for none"""
    ranges: bool = True
    """does the server know `Range`?"""
    heeds: bool = True
    """does it heed `If-Range`?"""
    lengths: bool = True
    """does it state the length?"""
    md5: bytes | None = None
    """a hash that it states as Google does"""
    first: list[tuple[int, dict[str, str]]] = field(default_factory=list[Any])
    """status and headers of refusals, before it is served"""
    endless: bool = False
    """does it go on and on where the content ends?"""
    cuts: list[int] = field(default_factory=list[int])
    """after how many bytes answers break off, one after the other"""
    later: list[tuple[int, dict[str, str]]] = field(default_factory=list[Any])
    """refusals that follow an answer which broke off"""

    @classmethod
    def google(cls, content: bytes) -> Served:
        """With its true hash."""
        return cls(content, md5=hashlib.md5(content, usedforsecurity=False).digest())


@dataclass
class FileServer:
    """Files by path, and what was asked for."""

    address: str = ""
    files: dict[str, Served] = field(default_factory=dict[str, Served])
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list[Any])
    methods: list[str] = field(default_factory=list[str])
    """of what was asked for"""
    at_once: int = 0
    """the most requests that were answered at one time"""

    def ranges(self) -> list[str | None]:
        """The ranges that were asked for."""
        return [headers.get("Range") for _, headers in self.asked]


class _Server(ThreadingHTTPServer):
    """On a free port of this machine."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.found = FileServer(f"http://127.0.0.1:{self.server_port}")
        self.lock, self.now = threading.Lock(), 0


class _Handler(BaseHTTPRequestHandler):
    """Serves what `serving` yields."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        assert isinstance(self.server, _Server)
        found, lock = self.server.found, self.server.lock
        with lock:
            self.server.now += 1
            found.at_once = max(found.at_once, self.server.now)
            found.asked.append((self.path, dict(self.headers.items())))
            found.methods.append(self.command)
        try:
            self._answer(found.files.get(self.path.removeprefix("/")))
        finally:
            self.close_connection = True
            with lock:
                self.server.now -= 1

    def _answer(self, file: Served | None) -> None:
        if file is None:
            self.send_error(404)
            return
        if file.first:
            status, headers = file.first.pop(0)
            self._head(status, {"Content-Length": "0", **headers})
            return
        start, total = self._start(file), len(file.content)
        if start >= total > 0:
            told = {"ETag": file.version} if file.version else {}
            whole = {"Content-Range": f"bytes */{total}", "Content-Length": "0"}
            self._head(416, whole | told)
            return
        headers = {"ETag": file.version} if file.version else {}
        if file.lengths:
            headers["Content-Length"] = str(total - start)
        if file.md5 is not None:
            headers["x-goog-hash"] = f"crc32c=AAAAAA==,md5={base64.b64encode(file.md5).decode()}"
        if start:
            headers["Content-Range"] = f"bytes {start}-{total - 1}/{total}"
        self._head(206 if start else 200, headers)
        if self.command == "HEAD":
            return
        end = total
        if file.cuts:
            end = start + file.cuts.pop(0)
            file.first += file.later
        self.wfile.write(file.content[start:end])
        with suppress(OSError):  # nobody listens any more
            for _ in range(ENDLESS if file.endless else 0):
                self.wfile.write(file.content)

    def _start(self, file: Served) -> int:
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if not file.ranges or asked is None:
            return 0
        condition = self.headers.get("If-Range")
        same = condition in (None, file.version) or not file.heeds
        return int(asked[1]) if same else 0

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


@contextmanager
def serving() -> Generator[FileServer]:
    """A server, in a thread of its own, until the block ends."""
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
