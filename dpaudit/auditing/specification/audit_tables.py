"""Tables of a file of audits, as they are read: of a claim, or of a mechanism of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

import dpaudit.auditing.outcome.claims as claims
from dpaudit.auditing.files.record_files import records_from as records_from
from dpaudit.auditing.specification.service_settings import (
    refuse_without_url,
    service_of,
)
from dpaudit.errors import InvalidArgument
from dpaudit.extension.models import get_given_settings
from dpaudit.extension.setting_table import (
    AuditSettings,
    OwnSettings,
    rows_of,
)
from dpaudit.guarantees.kinds import Guarantee
from dpaudit.mechanisms.foreign.code_mechanism import ObservationSettings
from dpaudit.mechanisms.foreign.outside import Outside
from dpaudit.neighbours import Metric
from dpaudit.neighbours.found_relations import (
    chosen_relation,
)
from dpaudit.programs import Program
from dpaudit.redaction import Record


class _AuditTable(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of any audit that it names."""
        return get_given_settings(self, rows_of(AuditSettings))


class ClaimAudit(_AuditTable):
    """An audit of an installed claim."""

    claim: str


class CandidatePair(BaseModel):
    """One of several pairs: records inline, or names of files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset: Any
    neighbour: Any


class MechanismAudit(_AuditTable):
    """An audit of a mechanism of the user's own."""

    mechanism: str | None = Field(
        None, description="module:object, a mechanism or what returns one"
    )
    name: str | None = None
    statement: str | None = None
    source: str | None = None
    release: dict[str, Any] | list[dict[str, Any]] | None = Field(
        None, description="what is said to be released: a kind and its parameters, or several"
    )
    pair: str | None = Field(None, description="module:object instead: (dataset, neighbour)")
    pairs: list[CandidatePair] | str | None = Field(
        None, description="candidates of which the worst is audited, or module:object of a list"
    )

    @property
    def own(self) -> OwnSettings:
        """The settings of a mechanism of one's own."""
        return OwnSettings(**get_given_settings(self, rows_of(OwnSettings)))

    @property
    def reading(self) -> ObservationSettings:
        """The form of a call, and the observations."""
        own = self.own
        return ObservationSettings(own.form, own.read, own.observe, own.ignore, own.fresh)

    def outside(self, folder: Path) -> Outside | None:
        """Return the mechanism that is no code of Python, where one is named.

        Raises
        ------
        InvalidArgument
            It is no such thing.
        """
        own = self.own
        if own.url is not None:
            return service_of(own)
        refuse_without_url(own)
        if own.program is None:
            if own.protocol is not None:
                raise InvalidArgument("protocol", own.protocol, "nothing: it is of a command")
            return None
        found: Outside = Program(own.program, protocol=own.protocol, folder=folder)
        for given in (own.dataset, own.neighbour):
            if isinstance(given, str):
                found = found.with_file(records_from(folder / given), folder / given)
        return found

    @property
    def called(self) -> str:
        """The name of an audit that has none."""
        own = self.own
        return self.mechanism or own.program or own.url or ""

    @property
    def references(self) -> dict[str, str | None]:
        """The references ``module:object`` by key."""
        pairs = self.pairs if isinstance(self.pairs, str) else None
        named = chosen_relation(self.own.relation)
        distance = named.reference if isinstance(named, Metric) else None
        found = {"mechanism": self.mechanism, "pair": self.pair, "pairs": pairs}
        return found | ({} if distance is None else {"relation": distance})

    def claimed(self, path: Path) -> Guarantee | None:
        """Return the claim, if it is another one than epsilon and delta.

        Raises
        ------
        InvalidArgument, DataError
            There are several claims, or one is not as it has to be.
        """
        curve = self.own.curve
        if isinstance(curve, str):
            curve = parse_specified_records("curve", curve, path).tolist()
        given = {"mu": self.own.mu, "rho": self.own.rho, "renyi": self.own.renyi, "curve": curve}
        found, point = claims.of_table(given), self.settings
        if found is not None and ("epsilon" in point or point.get("delta")):
            name = "epsilon" if "epsilon" in point else "delta"
            raise InvalidArgument(name, point[name], "either epsilon or another claim")
        return found


def parse_specified_records(name: str, given: Any, path: Path) -> Any:
    """Return records of a table of audits: written there, or in a file that it names."""
    if given is None:
        made = "" if name == "dataset" else "; or a relation, for a search for the worst neighbour"
        raise InvalidArgument(name, None, f"records, a .npy or .csv file, a pair or a domain{made}")
    if isinstance(given, str):
        return records_from(path.resolve().parent / given)
    # Texts and tables are records as they are, and no numbers to be converted.
    if isinstance(given, list) and _of_one_kind(given):
        return given
    try:
        # As doubles, whatever TOML has: integers and decimals in one row are one kind of
        # record.
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(
            name, Record(given), "rows of numbers, all of the same length"
        ) from None


def _of_one_kind(given: list[Any]) -> bool:
    """Return whether records are texts, or tables, all of them."""
    return bool(given) and any(all(isinstance(one, kind) for one in given) for kind in (str, dict))
