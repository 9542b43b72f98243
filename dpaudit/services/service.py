"""A service as a mechanism: an output is the answer to one request."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property
from typing import Any
from urllib.parse import SplitResult, urlsplit

from numpy.random import Generator

from dpaudit.errors import InvalidArgument, MechanismError, VerbatimText
from dpaudit.mechanisms.foreign.outside import Outside
from dpaudit.redaction import convert_stray_argument
from dpaudit.services.answers import ServiceAnswer, format_answer_beginning, output_of
from dpaudit.services.connection import Absent, ServiceRequest, answer_of
from dpaudit.services.limits import Journal, JournalToken, ServiceUsage
from dpaudit.services.nonces import with_nonce
from dpaudit.services.template import (
    Kind,
    TemplateValues,
    in_address,
    in_body,
    in_header,
    nonce,
    require_known,
    words_in,
)
from dpaudit.services.waiting import REFUSES, RESTART, wait_of

_SECRETS = ("authorization", "cookie", "token", "secret", "password", "api-key", "apikey")
_HEADERS = {"json": "application/json", "form": "application/x-www-form-urlencoded"}
_CACHES = ("cf-cache-status", "x-cache", "x-cache-status", "x-proxy-cache", "cache-status")
_SEED = 2**63


@dataclass(frozen=True)
class Service(Outside):
    """A service that answers one HTTP request with one output.

    It takes the place of a function: ``dpaudit.audit(Service(...), a, b, epsilon=1)``. In its
    address, headers and body, ``{data}``, ``{dataset}``, ``{seed}``, ``{fresh}`` and ``{env:NAME}``
    stand for the dataset as JSON, its name where the service holds the data, an integer that
    follows from the seed of the audit, a nonce, and a variable of the environment.

    Parameters
    ----------
    url
        The address of the service. ``"{dataset}"`` alone stands for the address of each dataset.
    method
        The method of the request; by default GET, or POST if there is a body.
    headers
        The headers by name; ``"env:NAME"`` alone also stands for a variable of the environment.
    body
        The body: text, or lists and dicts to send as JSON.
    read
        The part of an answer that is the output: the name of a member, a JSON pointer such as
        ``"/result/count"``, or ``"header:NAME"``; by default the whole answer.
    fresh
        The place of a nonce, which differs in every request, if the template has none:
        ``"query:NAME"``, a parameter of the address, ``"header:NAME"``, or ``"body:NAME"``.
    rate
        The largest number of requests in a second, of all workers together; by default as many as
        the service answers.
    request_timeout
        The seconds that an answer may take.
    patience
        The seconds that a request waits in all while the service answers 429 or 503. It waits a
        minute of them for a service that has answered before and accepts no connections.
    max_bytes
        The largest number of bytes of an answer.
    version
        The header that names the version of the service; by default Server.

    Raises
    ------
    InvalidArgument
        An argument does not fit its description here, or holds a secret.

    Examples
    --------
    >>> Service("http://127.0.0.1:8000/count?rows={data}", rate=50).words
    frozenset({'data'})
    >>> Service("http://127.0.0.1:8000/count", headers={"Authorization": "Bearer 12345"})
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: headers: got a value for Authorization, expected env:NAME, or \
{env:NAME} in it: a secret written here would appear in reports
    """

    url: str
    _: KW_ONLY
    method: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    read: str | None = None
    fresh: str | None = None
    rate: float | None = None
    request_timeout: float = 30.0
    patience: float = 600.0
    max_bytes: int = 2**20
    version: str | None = None
    token: JournalToken = field(default_factory=JournalToken, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_known("url", self.url)
        _require_address(self.url)
        for name, value in self.headers.items():
            _require_header(name, value)
        if self.fresh is not None:
            with_nonce(replace(self, fresh=None), self.fresh)
        for name in ("rate", "request_timeout", "patience", "max_bytes"):
            _require_positive(name, getattr(self, name), optional=name == "rate")

    @property
    def words(self) -> frozenset[str]:
        """The words that the template has, with its nonce."""
        asked = self._asked
        return words_in([asked.url, *asked.headers.values(), asked.body])

    @property
    def name(self) -> str:
        """The name in reports: the address, without the part that asks for data."""
        return f"{self.method or self._method} {self.url.partition('?')[0]}"

    @property
    def is_fresh(self) -> bool:
        """Whether no two requests of it are the same."""
        return "fresh" in self.words or "seed" in self.words

    @property
    def seen(self) -> ServiceUsage:
        """The observations of the service in all processes."""
        return Journal(self.token.name).seen

    @property
    def names_datasets(self) -> bool:
        """Whether it holds the datasets itself, and the template has their names."""
        return "dataset" in self.words and "data" not in self.words

    @property
    def is_costly(self) -> bool:
        """Whether requests are limited to so many a second."""
        return self.rate is not None

    @property
    def reaches(self) -> tuple[str, str]:
        """A connection: a service behind it may keep anything."""
        return "connection", self.name

    @property
    def form(self) -> str:
        """The form of a call: a request has a seed that follows from the audit's."""
        return "f(data, rng)"

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the request: not of the service, which nobody can look at."""
        stated = {
            one.name: _convert_body_to_json(getattr(self, one.name))
            for one in fields(self)
            if one.compare
        }
        return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the fields for other processes, and nothing else."""
        return _make_service_from_values, (
            {one.name: getattr(self, one.name) for one in fields(self)},
        )

    def __call__(self, dataset: Any, rng: Generator) -> Any:
        """Return the output of one request.

        Raises
        ------
        MechanismError
            The service does not answer, or with something else than an output.
        """
        values = TemplateValues(dataset, int(rng.integers(_SEED)), nonce())
        try:
            answer = self._await_output_answer(self._asked._request(values))
            output = output_of(answer, self.read)
            self._note(answer)
        except MechanismError as error:
            raise MechanismError(f"service {self.name}: {error}") from error
        return output

    def read_as(self, read: Any, fresh: Any) -> tuple[Service, Any, Any]:
        """Return the service that reads a part by itself, and has its nonce where it goes."""
        parts = [read] if isinstance(read, str) else read
        own = isinstance(parts, list | tuple) and len(parts) == 1
        found = replace(
            self,
            read=parts[0] if own else self.read,
            fresh=self.fresh if fresh is None else fresh,
        )
        return found, None if own else read, None

    @cached_property
    def _asked(self) -> Service:
        """The service as it is asked, with the nonce in its template."""
        if self.fresh is None:
            return self
        return with_nonce(replace(self, fresh=None), self.fresh)

    @cached_property
    def _journal(self) -> Journal:
        return Journal(self.token.name)

    @property
    def _method(self) -> str:
        return (self.method or ("GET" if self.body is None else "POST")).upper()

    @cached_property
    def _template(self) -> tuple[Any, Kind]:
        return _template_of(self.body, self.headers)

    def _request(self, values: TemplateValues) -> ServiceRequest:
        """Return the request with its words filled in."""
        url = in_address(self.url, values)
        # An address that begins with {dataset} is known only now.
        _require_address(url, filled=True)
        headers = {name: in_header(value, values) for name, value in self.headers.items()}
        if self.body is None:
            return ServiceRequest(self._method, url, headers, None)
        body, kind = self._template
        said = {name.lower() for name in headers}
        like = "json" if kind == "text" and _is_like_json(body) else kind
        if like in _HEADERS and "content-type" not in said:
            headers["Content-Type"] = _HEADERS[like]
        return ServiceRequest(self._method, url, headers, in_body(body, kind, values))

    def _await_output_answer(self, request: ServiceRequest) -> ServiceAnswer:
        """Return the answer that is an output, waiting where the service asks for it."""
        waited, refusals = 0.0, 0
        while (answer := self._tried(request, waited)) is None or (answer.status in REFUSES):
            refusals += 1
            seconds = wait_of(answer, refusals)
            waited += seconds
            if answer is not None and waited > self.patience:
                asked = f"{answer.status} {answer.reason}, {refusals} times in a row"
                expected = (
                    f"it asked for waits of {waited:g} s or more in all, and "
                    f"{self.patience:g} s are allowed (patience)"
                )
                raise MechanismError(f"answered {asked}: {expected}")
            self._journal.hold(seconds)
        return self._require_success(answer)

    def _tried(self, request: ServiceRequest, waited: float) -> ServiceAnswer | None:
        """Return the answer to a request; None where the service seems to be started again."""
        if seconds := self._journal.turn(self.rate):
            time.sleep(seconds)
        try:
            return answer_of(request, self.request_timeout, self.max_bytes)
        except Absent:
            # A service that never answered is not started, which waiting does not mend.
            if waited >= min(RESTART, self.patience) or not self._journal.seen.answers:
                raise
            return None

    def _require_success(self, answer: ServiceAnswer) -> ServiceAnswer:
        if not 200 <= answer.status < 300:
            count = self._journal.seen.answers
            raise MechanismError(
                f"answered {answer.status} {answer.reason} after {count} answers: "
                f"{format_answer_beginning(answer)}"
            )
        return answer

    def _note(self, answer: ServiceAnswer) -> None:
        """Note an answer that is an output."""
        named = self.version or "Server"
        version = answer.headers.get(named.lower(), "").strip()
        said = f"{named}: {version}" if version else ""
        cache = cache_said(answer)
        self._journal.note(lambda seen: seen.with_answer(said, cache))


def _make_service_from_values(values: dict[str, Any]) -> Service:
    return Service(**values)


def cache_said(answer: ServiceAnswer) -> str:
    """Return the header that says that an answer came from a cache; empty if none does.

    Examples
    --------
    >>> (
    ...     cache_said(ServiceAnswer(200, "OK", {"age": "12"}, b"")),
    ...     cache_said(ServiceAnswer(200, "OK", {}, b"")),
    ... )
    ('Age: 12', '')
    """
    age = answer.headers.get("age", "")
    if age.isdecimal() and int(age):
        return f"Age: {age}"
    for name in _CACHES:
        if "hit" in (value := answer.headers.get(name, "").lower()):
            return f"{name}: {value}"
    return ""


def _template_of(body: Any, headers: Mapping[str, str]) -> tuple[Any, Kind]:
    """Return a body and its kind: JSON as a value where it can be read as such."""
    if not isinstance(body, str):
        return body, "json"
    said = next((v for name, v in headers.items() if name.lower() == "content-type"), "")
    if "urlencoded" in said:
        return body, "form"
    try:
        return json.loads(body), "json"
    except ValueError:
        is_form = not said and "=" in body and not body.lstrip().startswith(("{", "[", "<"))
        return body, "form" if is_form else "text"


def _is_like_json(body: str) -> bool:
    return body.lstrip().startswith(("{", "["))


def _require_address(url: str, *, filled: bool = False) -> None:
    """Refuse an address that is none of a service, or holds a password."""
    if not filled and url.startswith("{dataset}"):
        return
    given = VerbatimText("an address") if filled else url
    try:
        parts = urlsplit(url)
        found = parts.port, parts.hostname
    except ValueError:
        found, parts = (None, None), SplitResult("", "", "", "", "")
    if parts.username is not None or parts.password is not None:
        expected = "no name and password in it: headers={'Authorization': 'env:NAME'}"
        raise InvalidArgument("url", VerbatimText("an address with a name before @"), expected)
    if parts.scheme not in ("http", "https") or not found[1]:
        raise InvalidArgument("url", given, "an address such as http://host:8000/count?q=...")
    if any(ord(letter) <= 32 or ord(letter) > 126 for letter in url):
        expected = "an address of ASCII letters without spaces (%20 is one)"
        raise InvalidArgument("url", given, expected)


def _require_header(name: str, value: Any) -> None:
    if not isinstance(value, str) or not name.isprintable() or ":" in name or " " in name:
        raise InvalidArgument("headers", VerbatimText(name), "names of headers with a text each")
    if not value.isprintable():
        raise InvalidArgument("headers", VerbatimText(name), "a text of one line")
    secret = any(one in name.lower() for one in _SECRETS)
    if secret and not value.startswith("env:") and "{env:" not in value:
        expected = "env:NAME, or {env:NAME} in it: a secret written here would appear in reports"
        raise InvalidArgument("headers", VerbatimText(f"a value for {name}"), expected)


def _require_positive(name: str, value: Any, *, optional: bool) -> None:
    if value is None and optional:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:
        raise InvalidArgument(name, value, "a positive number")


def _convert_body_to_json(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        raise InvalidArgument(
            "body", convert_stray_argument(value), "text, or what JSON holds"
        ) from None
