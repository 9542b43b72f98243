"""Facts of a record that can be judged: its numbers with their places, and its names, as keys.

No text of a record is in its facts. They are stored, and everything that is said of a record
follows from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from dpaudit.report.counts import ReportPart

Kind = Literal[
    "epsilon",
    "delta",
    "rho",
    "mu",
    "order",
    "renyi",
    "sensitivity",
    "scale",
    "sigma",
    "variance",
    "multiplier",
    "flip",
    "truth",
    "categories",
    "sampling",
    "people",
    "count",
]
Role = Literal["field", "total", "part", "each", "aside", "text", "local"]


class Number(ReportPart):
    """A number that was read, and where."""

    kind: Kind
    value: float
    least: float | None = Field(
        default=None, description="The smaller end, where a range is written."
    )
    slack: float = Field(default=0.0, description="What its last digit leaves open.")
    written: str = Field(description="Its own characters.")
    path: str = Field(description="The keys that lead to its text.")
    line: int = Field(0, description="Its line in the file, 0 if not known.")
    role: Role = "text"
    per: str = Field(default="", description="What it is for one of: day, query, ...")

    @property
    def place(self) -> str:
        """The place in the record, for a reader."""
        return f"{self.path}, line {self.line}" if self.line else self.path

    @property
    def is_single(self) -> bool:
        """Whether it is one finite number and no range."""
        return self.least is None and math.isfinite(self.value)

    def is_about(self, value: float) -> bool:
        """Return whether a value rounds to it, as its digits allow."""
        # The last term is for doubles: ``ln 3`` is exact as written, and has no slack.
        return abs(self.value - value) <= self.slack + 1e-9 * abs(value)


class Scope(ReportPart):
    """Numbers that the record states of one thing: of one field, or in one clause."""

    numbers: list[Number]
    mechanisms: list[str] = Field(default=[])
    linked: bool = Field(
        default=False, description="Whether it says that one number follows from another."
    )

    def first(self, kind: Kind) -> Number | None:
        """Return the number of a kind, or None."""
        return next((one for one in self.numbers if one.kind == kind), None)


class RecordTotal(ReportPart):
    """A number that the record says is made up of others."""

    total: Number
    parts: list[Number] = Field(min_length=1)
    factor: float = 1.0
    way: Literal["sum", "times"] = "sum"
    is_listed: bool = Field(
        default=False, description="Whether the parts are listed with the total."
    )
    is_split: bool = Field(
        default=False, description="Whether these are said to be all of its parts."
    )


class Equation(ReportPart):
    """Arithmetic that the record writes out itself."""

    written: str
    slack: float = 0.0
    stated: Number


class RecordFacts(ReportPart):
    """The statements of a record."""

    record: str
    address: str = ""
    sources: list[str] = Field(default=[], description="Addresses that the record gives.")
    layout: Literal["registry", "statement"] = "statement"
    tier: int | None = None
    status: str = ""
    variants: list[str] = Field(default=[])
    entities: list[str] = Field(default=[], description="Whose data is protected: user, event, ...")
    unit_periods: list[str] = Field(default=[], description="Of the unit: day, month, ...")
    refresh: list[str] = Field(default=[], description="How often it is released: day, month, ...")
    releases: str = Field(default="", description="One or many.")
    relations: list[str] = Field(default=[])
    metrics: list[str] = Field(default=[])
    distance: float | None = None
    model: str = ""
    composition: list[str] = Field(default=[])
    mechanisms: list[str] = Field(default=[])
    remarks: list[str] = Field(
        default=[], description="Keys of what else is named: amplification, ..."
    )
    fields: list[Number] = Field(default=[], description="Parameters in fields of their own.")
    scopes: list[Scope] = Field(default=[])
    totals: list[RecordTotal] = Field(default=[])
    equations: list[Equation] = Field(default=[])
    formulas: list[str] = Field(
        default=[], description="Fields that hold a formula where a number goes."
    )
    deviations: list[str] = Field(
        default=[], description="What the schema of the registry refuses."
    )
    absent: list[str] = Field(
        default=[], description="Fields of its tier that are not there, or empty."
    )
    unread: list[str] = Field(default=[], description="Fields that nothing here looks at.")

    def field(self, kind: Kind) -> Number | None:
        """Return the parameter of a kind in a field; that of one release if there is no other."""
        same = [one for one in self.fields if one.kind == kind]
        whole = [one for one in same if one.role not in ("each", "local")]
        return next(iter(whole + same), None)

    def numbers(self) -> Iterable[Number]:
        """Yield every number that was read, each place once."""
        seen: set[tuple[str, str, int, str]] = set()
        inside = [one for scope in self.scopes for one in scope.numbers]
        written = [one.stated for one in self.equations]
        summed = [one for total in self.totals for one in (total.total, *total.parts)]
        for one in [*self.fields, *inside, *summed, *written]:
            key = (one.kind, one.path, one.line, one.written)
            if key not in seen:
                seen.add(key)
                yield one
