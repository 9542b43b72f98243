"""A service, and its datasets, as a command line or a file of audits has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.extension.setting_table import OwnSettings
from dpaudit.redaction import convert_stray_argument
from dpaudit.services import Service

_WITH_URL = ("method", "header", "body", "rate", "patience", "version_header")
_EXPECTED = "'Name: value', with a secret as 'Name: env:VARIABLE'"


def service_of(own: OwnSettings) -> Service:
    """Return the service that settings name.

    Raises
    ------
    InvalidArgument
        It is none.

    Examples
    --------
    >>> service_of(OwnSettings(url="http://host/count", header=["X-Tenant: blue"], rate=5)).headers
    {'X-Tenant': 'blue'}
    """
    given: dict[str, Any] = {} if own.patience is None else {"patience": own.patience}
    return Service(
        own.url or "",
        method=own.method,
        headers=headers_of(own.header),
        body=own.body,
        rate=own.rate,
        version=own.version_header,
        **given,
    )


def headers_of(lines: str | Iterable[str]) -> dict[str, str]:
    """Return headers by name.

    Examples
    --------
    >>> headers_of("Authorization: env:TOKEN")
    {'Authorization': 'env:TOKEN'}
    """
    found = {}
    for line in [lines] if isinstance(lines, str) else lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip() or not value.strip():
            # The line is not shown, because it may be a secret that somebody wrote without its
            # name.
            raise InvalidArgument("header", VerbatimText("one without a colon"), _EXPECTED)
        found[name.strip()] = value.strip()
    return found


def refuse_without_url(own: OwnSettings) -> None:
    """Refuse settings of a service where none is named."""
    for name in _WITH_URL:
        if given := getattr(own, name):
            raise InvalidArgument(name, given, "nothing: it is of a service, --url")


def require_named_dataset(name: str, given: Any) -> str:
    """Return the name of a dataset that is not here."""
    if not isinstance(given, str):
        expected = "the name that {dataset} stands for: there are no records here"
        raise InvalidArgument(
            name, None if given is None else convert_stray_argument(given), expected
        )
    return given
