"""The formats of other tools, by the name that ``--format`` has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from dpaudit.report.annotations import github
from dpaudit.report.brief import brief
from dpaudit.report.entries import Entries
from dpaudit.report.junit import junit
from dpaudit.report.sarif import sarif

FORMATS: Mapping[str, Callable[[Entries], str]] = MappingProxyType(
    {"github": github, "junit": junit, "sarif": sarif, "markdown": brief}
)
