"""Audits written down in a TOML file: installed claims, and mechanisms of the user's own.

A file holds one ``[audit]`` table or several ``[[audit]]`` tables. Each names a ``claim``, a
``mechanism`` as ``module:object`` with the pair to run it on, or files of ``outputs``. Modules are
looked for beside the file last: none there takes the place of a library.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpaudit.auditing.api import DEFAULT_TRIALS, own_case
from dpaudit.auditing.files.record_files import records_from as records_from
from dpaudit.auditing.outcome.code_proof import is_proof_required, prove_code, trials_of
from dpaudit.auditing.outcome.declared_release import proof_of
from dpaudit.auditing.pairs.found_pairs import SearchEffort, find_pairs, refuse_beside_domain
from dpaudit.auditing.repeat.plan import AuditPlan
from dpaudit.auditing.run import PreparedAudit
from dpaudit.auditing.samples.output_audit import OutputsAudit
from dpaudit.auditing.specification.audit_tables import (
    ClaimAudit,
    MechanismAudit,
    parse_specified_records,
)
from dpaudit.auditing.specification.service_settings import (
    require_named_dataset,
)
from dpaudit.auditing.specification.sibling_modules import require_reachable
from dpaudit.domains import Dates, Domain, domain_of
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.execution import importable
from dpaudit.extension.models import get_given_settings, with_settings
from dpaudit.extension.parameters import parse_parameters
from dpaudit.extension.setting_table import (
    AcceptanceSettings,
    AuditSettings,
    Door,
    Kind,
    OwnSettings,
    names_of,
    row_of,
    rows_of,
)
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.mechanisms.foreign.isolation import (
    Isolation,
    Placement,
    isolate_mechanism,
    isolate_reference,
    make_isolated,
)
from dpaudit.neighbours import Pair
from dpaudit.neighbours.candidates import Candidate
from dpaudit.neighbours.found_relations import (
    FoundPair,
    declare_relation,
    find_pair_relation,
)
from dpaudit.redaction import convert_stray_argument
from dpaudit.toml import read_tables

_TYPES: dict[Kind, Any] = {
    Kind.NUMBER: float,
    Kind.NUMBERS: tuple[float, float],
    Kind.INTEGER: int,
    Kind.FLAG: bool,
    Kind.WORD: str,
    Kind.WORDS: str | list[str],
    Kind.FILE: str,
    Kind.RECORDS: Any,
    Kind.CURVE: list[tuple[float, float]] | str,
    Kind.BOUNDS: tuple[float, float] | dict[str, tuple[float, float]],
    Kind.LOOKS: list[tuple[int, float]],
    Kind.PARAMETERS: dict[str, Any],
}
_CLAIM = with_settings(ClaimAudit, rows_of(door=Door.CLAIM), _TYPES)
_MECHANISM = with_settings(MechanismAudit, rows_of(door=Door.FILE), _TYPES)


_RECORDS = ("dataset", "neighbour", "pairs")
Specification = ClaimAudit | MechanismAudit | OutputsAudit


def read_specification(path: Path) -> list[Specification]:
    """Return the audits a TOML file asks for.

    Raises
    ------
    DataError
        The file is missing or is not TOML.
    InvalidArgument
        A key is unknown or a value is not of its kind.
    """
    return [_parse_audit_table(table, path) for table in read_tables(path, "audit")]


COMMAND_LINE = "the command line"


def of_command_line(
    target: str | None, own: Mapping[str, Any], epsilon: float | None
) -> MechanismAudit:
    """Return the audit of ``module:object`` with the options of a command line.

    Without a target the options name what is audited.

    Raises
    ------
    InvalidArgument
        An option is wrong.
    """
    others = [name for name in ("mu", "rho", "renyi", "curve") if own.get(name) is not None]
    if epsilon is None and not others:
        claims_it = target or "the mechanism"
        raise InvalidArgument(
            "epsilon", None, f"the epsilon that {claims_it} claims; there is no default"
        )
    if epsilon is not None and others:
        raise InvalidArgument("epsilon", epsilon, f"either epsilon or {others[0]}")
    table = {"mechanism": target, "source": COMMAND_LINE, "delta": 0.0, **own}
    return parse_parameters(_MECHANISM, table, records=_RECORDS)


OUTSIDE = ("program", "url")  # settings that name a mechanism which is no code of Python
_IN_FILES = {row_of(name).flag.removeprefix("--"): name for name in OUTSIDE}


def _parse_audit_table(table: Any, path: Path) -> Specification:
    if isinstance(table, dict) and "outputs" in table:
        return parse_parameters(OutputsAudit, table)
    subjects = ("claim", "mechanism", *_IN_FILES)
    if not isinstance(table, dict) or sum(one in table for one in subjects) != 1:
        given = sorted(table) if isinstance(table, dict) else convert_stray_argument(table)
        expected = f"either a claim or a mechanism, as one of {', '.join(subjects)}, outputs"
        raise InvalidArgument(f"audit in {path}", given, expected)
    # Files use the names of the options, the settings those of the Python interface.
    table = {_IN_FILES.get(name, name): one for name, one in table.items()}
    if {"attack", "distinguisher"} <= table.keys():
        expected = "the distinguisher alone: attack is its older name"
        raise InvalidArgument(f"attack in {path}", table["attack"], expected)
    if "claim" in table:
        return parse_parameters(_CLAIM, table)
    return parse_parameters(_MECHANISM, table, records=_RECORDS)


def baseline_of(specification: Specification, path: Path) -> Path | None:
    """Return the file of accepted refutations that a specification names, beside its own file."""
    named = get_given_settings(specification, rows_of(AcceptanceSettings)).get("baseline")
    return None if named is None else path.parent / named


def settings_of(specification: ClaimAudit | MechanismAudit, overrides: dict[str, Any]) -> Settings:
    """Return the settings of a specification; those in ``overrides`` come first."""
    if isinstance(specification, MechanismAudit):
        for name in names_of(AuditSettings, door=Door.CLAIM):
            if name in overrides and name not in names_of(door=Door.FILE):
                expected = "nothing: the specification of a mechanism names its own data and pairs"
                raise InvalidArgument(name, overrides[name], expected)
    merged = specification.settings
    if isinstance(specification, MechanismAudit):
        merged.setdefault("delta", 0.0)  # a claim that names none has none
    for name, value in overrides.items():
        # Parameters are overridden one by one, so that an option changes one and keeps the
        # others.
        merged[name] = merged.get(name, {}) | value if isinstance(value, dict) else value
    return Settings(**merged)


def prepare_mechanism_audit(
    specification: MechanismAudit,
    settings: Settings,
    path: Path,
    plan: AuditPlan,
    isolation: Isolation,
) -> PreparedAudit:
    """Return the audit of a mechanism of the user's own, whose module may lie beside the file."""
    folder = path.resolve().parent
    with importable(folder):
        # A worker starts without the modules of this process, so only their files can hide one
        # there.
        loaded = sys.modules if isolation.in_process else {}
        require_reachable(specification.references, folder, loaded)
        reading = specification.reading
        mechanism = _build_specified_mechanism(specification, folder, isolation)
        pairs, found, plan = _resolve_specified_pairs(
            specification, settings, path, isolation, plan
        )
        claimed, own = (
            specification.claimed(path) or ApproximateDP(settings.epsilon, settings.delta),
            specification.own,
        )
        case, statement = own_case(
            mechanism,
            found.pair,
            candidates=() if _is_one_pair(specification) else pairs,
            claimed=claimed,
            proved=proof_of(specification.release),
            code=prove_code(mechanism, own.domain, own.relation, claimed, trials_of(settings)),
            requires_proof=is_proof_required(own.require),
            name=specification.name or specification.called,
            statement=specification.statement,
            source=specification.source or f"specification {path.name}",
            data=_get_pair_origin(specification),
            parameters={"mechanism": specification.called, **_get_about_parameter(own)},
            reading=reading,
            isolation=isolation,
            notes=() if found.words is None else (found.words,),
            relation_was_read=found.was_read,
        )
    return PreparedAudit(statement, case, settings, plan, folder)


def _build_specified_mechanism(
    specification: MechanismAudit, folder: Path, isolation: Isolation
) -> Placement:
    """Return the mechanism where it runs: imported there, or started outside Python."""
    reading, outside = specification.reading, specification.outside(folder)
    if outside is not None:
        return isolate_mechanism(outside, isolation, reading)
    return isolate_reference(specification.mechanism or "", isolation, reading)


def _get_about_parameter(own: OwnSettings) -> dict[str, str]:
    """Return the name of the data that are released, if one is given, as a parameter."""
    return {} if own.about is None else {"about": own.about}


def _resolve_specified_pairs(
    specification: MechanismAudit,
    settings: Settings,
    path: Path,
    isolation: Isolation,
    plan: AuditPlan,
) -> tuple[list[Pair[Any]] | list[Candidate], FoundPair, AuditPlan]:
    """Return the pairs that are given or found, the first with its relation, and the plan."""
    own = specification.own
    alone = specification.pairs is None and not _is_one_pair(specification)
    if own.domain is not None or (alone and own.relation is not None):
        return _find_specified_pairs(specification, settings, path, isolation, plan)
    return (*_load_specified_pairs(specification, path, isolation), plan)


def _get_pair_origin(specification: MechanismAudit) -> str:
    named = specification.pairs if isinstance(specification.pairs, str) else specification.pair
    return named or "given in the specification"


def _is_one_pair(specification: MechanismAudit) -> bool:
    given = (specification.pair, specification.own.neighbour)
    return specification.pairs is None and any(one is not None for one in given)


def _load_specified_pairs(
    specification: MechanismAudit, path: Path, isolation: Isolation
) -> tuple[list[Pair[Any]] | list[Candidate], FoundPair]:
    """Return the one pair, or all candidates, and the first with its relation as it was read."""
    given = specification.pairs
    if given is None:
        one = _load_specified_pair(specification, path, isolation)
        return [one.pair], one
    own = specification.own
    others = {"dataset": own.dataset, "neighbour": own.neighbour, "pair": specification.pair}
    for name, one in others.items():
        if one is not None:
            raise InvalidArgument(name, VerbatimText("both"), f"either {name} or pairs")
    if isinstance(given, str):
        found = make_isolated("pairs", given, isolation)
        if not isinstance(found, list | tuple) or not found:
            raise InvalidArgument(
                "pairs", convert_stray_argument(found), "a list of pairs, or what returns it"
            )
        both = [_as_pair("pairs", one, specification.own.relation) for one in found]
    elif not given:
        raise InvalidArgument("pairs", given, "at least one pair")
    else:
        records = [
            (
                parse_specified_records("dataset", p.dataset, path),
                parse_specified_records("neighbour", p.neighbour, path),
            )
            for p in given
        ]
        both = [find_pair_relation(p, q, specification.own.relation) for p, q in records]
    return [one.pair for one in both], both[0]


def _find_specified_pairs(
    specification: MechanismAudit,
    settings: Settings,
    path: Path,
    isolation: Isolation,
    plan: AuditPlan,
) -> tuple[list[Candidate], FoundPair, AuditPlan]:
    """Return the pairs that a search finds, the first with words, and the plan."""
    own = specification.own
    if own.domain is not None:
        refuse_beside_domain(
            neighbour=own.neighbour,
            pair=specification.pair,
            pairs=specification.pairs,
            bounds=own.bounds,
        )
    in_domain = own.domain is not None and own.dataset is None
    domain = None if own.domain is None else domain_of(own.domain)
    found = find_pairs(
        _build_specified_mechanism(specification, path.resolve().parent, isolation),
        domain,
        own.relation,
        dataset=None
        if in_domain
        else with_days(parse_specified_records("dataset", own.dataset, path), domain),
        bounds=own.bounds,
        effort=SearchEffort(settings.trials or DEFAULT_TRIALS, settings.time, own.search_calls),
        seed=settings.seed,
        claimed=specification.claimed(path) or ApproximateDP(settings.epsilon, settings.delta),
    )
    # A search whose length depends on the machine's speed is written down by its calls, or
    # nobody could repeat it.
    again = plan.with_search(found.calls) if found.by_pace else plan
    return found.candidates, found.as_found, again


def _load_specified_pair(
    specification: MechanismAudit, path: Path, isolation: Isolation
) -> FoundPair:
    dataset, neighbour = specification.own.dataset, specification.own.neighbour
    if specification.pair is not None:
        if dataset is not None or neighbour is not None:
            raise InvalidArgument("pair", specification.pair, "a pair, or dataset and neighbour")
        found = make_isolated("pair", specification.pair, isolation)
        return _as_pair("pair", found, specification.own.relation)
    outside = specification.outside(path.resolve().parent)
    if outside is not None and outside.names_datasets:
        return find_pair_relation(
            require_named_dataset("dataset", dataset),
            require_named_dataset("neighbour", neighbour),
            declare_relation(specification.own.relation),
        )
    records = (
        parse_specified_records("dataset", dataset, path),
        parse_specified_records("neighbour", neighbour, path),
    )
    return find_pair_relation(*records, specification.own.relation)


def _as_pair(name: str, found: Any, relation: str | None) -> FoundPair:
    if isinstance(found, Pair):
        if relation is None:
            return FoundPair(found)
        found = found.dataset, found.neighbour  # which have to obey the relation that is named
    if not isinstance(found, tuple) or len(found) != 2:
        raise InvalidArgument(
            name, convert_stray_argument(found), "(dataset, neighbour) or what returns it"
        )
    return find_pair_relation(found[0], found[1], relation)


def with_days(records: Any, domain: Domain | None) -> Any:
    """Return a table with the texts of its columns of days as days, as a domain says of them.

    Raises
    ------
    InvalidArgument
        A text is no day, as 2024-03-01 is.
    """
    if domain is None or domain.nodes is not None or not hasattr(records, "columns"):
        return records
    import pandas

    columns = zip(domain.layout.names, domain.layout.columns, strict=True)
    days = [name for name, one in columns if isinstance(one, Dates) and name in records.columns]
    try:
        read = {name: pandas.to_datetime(records[name], format="ISO8601") for name in days}
    except (ValueError, TypeError):
        expected = "days such as 2024-03-01 in the columns of days"
        raise InvalidArgument("dataset", VerbatimText("other texts"), expected) from None
    return records.assign(**read) if read else records
