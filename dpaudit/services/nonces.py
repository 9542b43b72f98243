"""Nonces in requests that have no place for one: no two requests are then the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from dpaudit.errors import InvalidArgument

if TYPE_CHECKING:
    from dpaudit.services.service import Service

PLACES = ("query", "header", "body")
_EXPECTED = (
    "query:NAME, header:NAME or body:NAME: a parameter of the address, a header, or a member of "
    "the body that has another value in every request"
)
_WORD = "{fresh}"


def with_nonce(service: Service, where: str) -> Service:
    """Return a service whose requests have a nonce at a place.

    Parameters
    ----------
    service
        Whose requests have none there.
    where
        ``query:NAME``, ``header:NAME`` or ``body:NAME``.

    Raises
    ------
    InvalidArgument
        There is no such place.

    Examples
    --------
    >>> from dpaudit.services import Service
    >>> with_nonce(Service("http://host/count?q=age"), "query:nonce").url
    'http://host/count?q=age&nonce={fresh}'
    """
    place, _, name = where.partition(":") if isinstance(where, str) else ("", "", "")
    if place not in PLACES or not name.isprintable() or not name:
        raise InvalidArgument("fresh", where, _EXPECTED)
    if place == "header":
        return replace(service, headers={**service.headers, name: _WORD})
    if place == "query":
        return replace(service, url=_with_parameter(service.url, name))
    return replace(service, body=_with_member(service.body, name, where))


def _with_parameter(url: str, name: str) -> str:
    parts = urlsplit(url)
    query = f"{parts.query}&{name}={_WORD}" if parts.query else f"{name}={_WORD}"
    return urlunsplit(parts._replace(query=query))


def _with_member(body: Any, name: str, where: str) -> Any:
    if isinstance(body, Mapping):
        return {**body, name: _WORD}
    if isinstance(body, str) and body.lstrip().startswith("{"):
        begin, _, rest = body.partition("{")
        comma = "" if rest.lstrip().startswith("}") else ", "
        return f'{begin}{{{json.dumps(name)}: "{_WORD}"{comma}{rest}'
    if isinstance(body, str) and "=" in body:
        return f"{body}&{name}={_WORD}"
    raise InvalidArgument("fresh", where, f"a body that has members; {_EXPECTED}")
