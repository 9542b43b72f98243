"""Real servers on this machine that answer counts: private, broken, cached, limited and moody."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

WITH, WITHOUT = 42, 41  # people on the two datasets that a server holds itself


@dataclass
class Asked:
    """A request as a server reads it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    line: str

    @property
    def count(self) -> float:
        """The exact answer: of the records that it brings, or of the dataset that it names."""
        if "rows" in self.query:
            return float(sum(json.loads(self.query["rows"])))
        if self.body.startswith(b"{"):
            return float(sum(json.loads(self.body)["rows"]))
        named = self.query.get("of", self.path.strip("/"))
        return float(WITHOUT if "without" in named else WITH)


Reply = tuple[int, dict[str, str], bytes]
Rule = Callable[[Asked], Reply]


@dataclass
class Server:
    """A server that runs: where it is, and what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)
    arrived: list[float] = field(default_factory=list)


@contextmanager
def serving(rule: Rule, port: int = 0) -> Iterator[Server]:
    """Yield a server that answers by a rule, in threads of its own, at any port by default."""
    found = Server("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "counts/1.0", ""

        def answer(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            one = Asked(self.command, parts.path, query, headers, body, self.path)
            found.asked.append(one)
            found.arrived.append(time.monotonic())
            status, further, said = rule(one)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(said)), **further}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = do_PUT = answer

        def log_message(self, *_: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads, request_queue_size = True, 64
        disable_nagle_algorithm = True

    with Quiet(("127.0.0.1", port), Handler) as http:
        http.RequestHandlerClass.disable_nagle_algorithm = True
        found.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield found
        finally:
            http.shutdown()
            thread.join()


def reply(value: Any, status: int = 200, **headers: str) -> Reply:
    """Return an answer in JSON."""
    return status, {"Content-Type": "application/json", **headers}, json.dumps(value).encode()


class Laplace:
    """A count with Laplace noise: right for an epsilon of 1 over the scale."""

    def __init__(self, scale: float = 1.0, seed: int = 0, *, whole: bool = False) -> None:
        self.scale, self.whole = scale, whole
        self._rng, self._lock = np.random.default_rng(seed), threading.Lock()

    def noisy(self, count: float) -> float:
        with self._lock:
            found = count + self._rng.laplace(scale=self.scale)
        return round(found) if self.whole else found

    def __call__(self, asked: Asked) -> Reply:
        return reply(self.noisy(asked.count))


class Cached:
    """A cache before another rule: by the whole line of a request, and perhaps for a while."""

    def __init__(
        self,
        rule: Rule,
        *,
        seconds: float | None = None,
        most: int | None = None,
        share: float = 1.0,
        says: bool = False,
        key: Callable[[Asked], Any] = lambda one: (one.line, one.body),
    ) -> None:
        self.rule, self.seconds, self.most, self.share = rule, seconds, most, share
        self.says, self.key = says, key
        self._known: OrderedDict[Any, tuple[float, Reply]] = OrderedDict()
        self._lock, self._rng = threading.Lock(), np.random.default_rng(7)

    def __call__(self, asked: Asked) -> Reply:
        with self._lock:
            key, now = self.key(asked), time.monotonic()
            held = self._known.get(key)
            old = held is not None and self.seconds is not None and now - held[0] > self.seconds
            if held is None or old or self._rng.random() >= self.share:
                if held is None or old:
                    self._known[key] = held = now, self.rule(asked)
                    self._known.move_to_end(key)
                    while self.most is not None and len(self._known) > self.most:
                        self._known.popitem(last=False)
                    return held[1]
                return self.rule(asked)
            self._known.move_to_end(key)
            status, headers, body = held[1]
            return status, {**headers, **({"X-Cache": "HIT"} if self.says else {})}, body


class Sticky:
    """Noise that is a function of the text of a query and of a secret, as Diffix has it."""

    def __init__(self, scale: float = 1.0, secret: bytes = b"a salt of the operator") -> None:
        self.scale, self.secret = scale, secret

    def __call__(self, asked: Asked) -> Reply:
        said = self.secret + json.dumps([asked.query.get("q"), asked.count]).encode()
        rng = np.random.default_rng(list(sha256(said).digest()))
        return reply({"rows": [[asked.count + rng.laplace(scale=self.scale)]]})


class Limited:
    """A limit: one request of so many is answered that it comes too soon, however slow all are."""

    def __init__(self, rule: Rule, every: int = 5, *, status: int = 429) -> None:
        self.rule, self.every, self.status = rule, every, status
        self.refused, self._asked, self._lock = 0, 0, threading.Lock()

    def __call__(self, asked: Asked) -> Reply:
        with self._lock:
            self._asked += 1
            if self._asked % self.every == 0:
                self.refused += 1
                return reply({"error": "slow down"}, self.status, **{"Retry-After": "0"})
        return self.rule(asked)


class Spent:
    """A budget of so many answers, after which there are none."""

    def __init__(self, rule: Rule, most: int) -> None:
        self.rule, self.left, self._lock = rule, most, threading.Lock()

    def __call__(self, asked: Asked) -> Reply:
        with self._lock:
            self.left -= 1
            if self.left < 0:
                return reply({"error": "the privacy budget is spent"}, 403)
        return self.rule(asked)


class Balanced:
    """Several backends, of which each request gets one: by chance, or in turn."""

    def __init__(self, *rules: Rule, seed: int | None = None) -> None:
        self.rules, self._lock, self._next = rules, threading.Lock(), 0
        self._rng = None if seed is None else np.random.default_rng(seed)

    def __call__(self, asked: Asked) -> Reply:
        with self._lock:
            self._next += 1
            chosen = (
                self._next % len(self.rules)
                if self._rng is None
                else int(self._rng.integers(len(self.rules)))
            )
        return self.rules[chosen](asked)


class Growing:
    """A count that grows with the time that the server runs."""

    def __init__(self, rule: Laplace, a_second: float) -> None:
        self.rule, self.a_second, self._began = rule, a_second, time.monotonic()

    def __call__(self, asked: Asked) -> Reply:
        grown = (time.monotonic() - self._began) * self.a_second
        return reply(self.rule.noisy(asked.count + grown))
