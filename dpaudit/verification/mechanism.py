"""Certificates of mechanisms that are nobody's claim: judged on fresh draws of the reader's code.

The reader names the mechanism, and has the data unless the file holds them: nothing that the file
names is imported or opened. That the code and the data are those of the file is seen by hashes.
Whatever else it states, a true claim is then refuted with probability at most ``1 - confidence``.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from time import monotonic
from typing import TYPE_CHECKING, Any

from dpaudit.errors import DataError, VerbatimText, shorten_repr
from dpaudit.verification.data import is_made, pair_of_the_file, sides_of, user_of, words_of_domain
from dpaudit.verification.document import Document
from dpaudit.verification.redrawn_counts import (
    AuditDeadline,
    FreshAudit,
    Reader,
    compare_stated_numbers,
    judge_fresh_result,
    own_settings,
    settings_of,
)

if TYPE_CHECKING:
    from dpaudit.extension.settings import Settings
    from dpaudit.guarantees.kinds import Guarantee
    from dpaudit.mechanisms.foreign.code_mechanism import ObservationSettings
    from dpaudit.mechanisms.foreign.isolation import Isolation, Placement
    from dpaudit.neighbours import Pair
    from dpaudit.report.schema import Result

_SAME = 1e-9  # relative, below which two distances are not told apart
_CLAIMS = ("epsilon", "delta", "mu", "rho", "renyi", "curve")


def draw_by_reader(document: Document, reader: Reader, *, reproduce: bool) -> FreshAudit:
    """Return the audit that a certificate describes, of the reader's mechanism on fresh draws.

    Raises
    ------
    DataError
        The reader names no mechanism or has no data, or the file is not as it has to be.
    MechanismError, InvalidArgument
        The mechanism cannot be run.
    """
    if reader.mechanism is None:
        stated = _part(document, "mechanism").get("reference")
        expected = "what it is about: --mechanism module:object, --command or --url"
        raise document.refused("instance.mechanism", VerbatimText(stated), expected)
    settings, pair = _settings(document, reader), _pair(document, reader)
    placed, code = _place_reader_mechanism(document, reader)
    failures = [*code, *_other_records(document, pair), *_other_reading(document, reader)]
    result = _run_reader_audit(document, placed, pair, settings, reader)
    found = judge_fresh_result(result, settings, reader)
    apart = None if result.a_unit is None else result.a_unit.apart
    failures += [*found.failures, *other_distance(document, apart)]
    summary = summary_of(document, reader, pair, found.outcome.summary or "")
    # The mechanism is made anew: the run on fresh draws may have moved a state of the first
    # one, and the file's own numbers came from a mechanism that had not run yet.
    if reproduce:
        placed, _ = _place_reader_mechanism(document, reader)
        own = own_settings(document, reader)
        again = _run_reader_audit(document, placed, pair, own, reader)
        failures += compare_stated_numbers(document, again)
    told = (*found.outcome.reservations, *_chosen_relation(pair, reader))
    return FreshAudit(replace(found.outcome, summary=summary, reservations=told), tuple(failures))


def summary_of(document: Document, reader: Reader, pair: Pair[Any], said: str) -> str:
    """Return the claim that a verdict is about, the evidence on it, and its datasets."""
    from dpaudit.auditing.outcome.claims import format_claim
    from dpaudit.neighbours import Metric

    relation = pair.relation
    a_unit = f", a unit of distance ({relation.distance})" if isinstance(relation, Metric) else ""
    claim = f"against the claim that it {format_claim(_claimed(document), _exactly)}{a_unit}"
    return f"{claim}: {said}; neighbours: {relation.statement}{words_of_domain(document, reader)}"


def _exactly(number: float) -> str:
    """Return a number of a claim with all digits that it has: the file chose them."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def of_reader(document: Document, reader: Reader) -> tuple[Pair[Any], list[str], tuple[str, ...]]:
    """Return the pair, the file's statements that contradict its reader, and reservations.

    Raises
    ------
    DataError
        There are no data, or the file is not as it has to be.
    """
    pair = _pair(document, reader)
    other = [*_other_records(document, pair), *_other_reading(document, reader)]
    return pair, other, _chosen_relation(pair, reader)


def _run_reader_audit(
    document: Document, placed: Placement, pair: Pair[Any], settings: Settings, reader: Reader
) -> Result:
    from dpaudit.auditing.api import own_case
    from dpaudit.auditing.run import audit_case
    from dpaudit.execution import Executor

    case, statement = own_case(
        placed,
        pair,
        claimed=_claimed(document),
        reading=_reading(reader),
        source="a certificate",
        isolation=_isolation(reader),
    )
    # The reader's code works in other processes, whose time this process's processor clock does
    # not count.
    clock = AuditDeadline(monotonic() + reader.seconds, document.path, monotonic)
    return audit_case(case, settings, statement=statement, executor=Executor(progress=clock))


def distance_of(pair: Pair[Any], reader: Reader) -> float | None:
    """Return how far two datasets are apart, of a claim a unit of distance; None of another."""
    from dpaudit.mechanisms.foreign.distance_calls import distances_of
    from dpaudit.neighbours import Metric

    metric = pair.relation
    if not isinstance(metric, Metric):
        return None
    return distances_of(metric, [pair], _isolation(reader))[0]


def other_distance(document: Document, found: float | None) -> list[str]:
    """Return the differences between the stated and the measured distance of the datasets."""
    stated = document.instance.get("apart")
    if stated == found or _agree(stated, found):
        return []
    return [
        f"apart: the certificate says {shorten_repr(stated)}, these datasets have "
        f"{shorten_repr(found)}"
    ]


def _agree(stated: Any, found: float | None) -> bool:
    """Return whether two distances are one, up to the last digits: another machine rounds them."""
    if found is None or type(stated) not in (int, float):
        return False
    # Fractions compare the two exactly; a long integer of the file would not convert to a
    # double.
    return abs(Fraction(stated) - Fraction(found)) <= Fraction(_SAME) * Fraction(found)


def _part(document: Document, name: str) -> dict[str, Any]:
    found = document.instance.get(name)
    if not isinstance(found, dict):
        raise document.refused(f"instance.{name}", found, "an object")
    return found


def _place_reader_mechanism(document: Document, reader: Reader) -> tuple[Placement, list[str]]:
    """Return the reader's mechanism in processes of its own, and whether its code is another."""
    from dpaudit.mechanisms.foreign.code_identity import code_of
    from dpaudit.mechanisms.foreign.isolation import isolate_mechanism, isolate_reference
    from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism

    make = isolate_reference if isinstance(reader.mechanism, str) else isolate_mechanism
    placed = make(reader.mechanism, _isolation(reader), _reading(reader))
    own = placed.mechanism
    code = own.code if isinstance(own, IsolatedMechanism) else code_of(own)
    stated = _part(document, "mechanism").get("sha256")
    # A mechanism of which no file holds the code can never be shown to be that of the
    # certificate, so the hash has to be there and to agree.
    if code is not None and code.sha256 == stated:
        return placed, []
    known = "no file holds it" if code is None else f"SHA-256 {code.sha256}"
    return placed, [f"mechanism: its code is not that of the certificate ({known})"]


def _isolation(reader: Reader) -> Isolation:
    """Return where the reader's own code runs, and for how long."""
    from dpaudit.execution.processes import Limits
    from dpaudit.mechanisms.foreign.isolation import Isolation

    return Isolation(limits=Limits(timeout=reader.seconds))


def _reading(reader: Reader) -> ObservationSettings:
    """Return how the reader says that the mechanism is called."""
    from dpaudit.mechanisms.foreign.code_mechanism import ObservationSettings

    return ObservationSettings(
        reader.form, reader.read, tuple(reader.observe), tuple(reader.ignore), reader.fresh
    )


def _other_reading(document: Document, reader: Reader) -> list[str]:
    """Return the observations in which the file differs from the reader."""
    stated = _part(document, "reading")
    read = [reader.read] if isinstance(reader.read, str) else reader.read
    own = {
        "form": reader.form,
        "read": read and list(read),
        "observe": list(reader.observe),
        "ignore": list(reader.ignore),
        "fresh": reader.fresh,
    }
    return [
        f"{name}: the certificate says {shorten_repr(stated.get(name))}: --{name} says it for "
        "who agrees"
        for name, value in own.items()
        if (stated.get(name) or None) != (value or None)
    ]


def _settings(document: Document, reader: Reader) -> Settings:
    """Return the settings of an audit, which are of no installed claim's."""
    from dpaudit.extension.settings import Settings

    settings, usual = settings_of(document, reader), Settings()
    for name in ("data", "data_options", "parameters", "candidate_pairs"):
        if getattr(settings, name) != getattr(usual, name):
            stated = getattr(settings, name)
            raise document.refused(f"instance.settings.{name}", stated, "nothing: no claim has it")
    return settings


def _claimed(document: Document) -> Guarantee:
    from dpaudit.auditing.outcome.claims import of_table
    from dpaudit.guarantees.kinds import ApproximateDP

    stated = _part(document, "claimed")
    if not stated or not stated.keys() <= set(_CLAIMS) or not all(map(_numbers, stated.values())):
        raise document.refused("instance.claimed", stated, f"numbers for {', '.join(_CLAIMS)}")
    if stated.keys() == {"epsilon", "delta"}:
        return ApproximateDP(stated["epsilon"], stated["delta"])
    found = of_table({name: stated.get(name) for name in ("mu", "rho", "renyi", "curve")})
    if found is None or len(stated) > 1:
        raise document.refused("instance.claimed", stated, "one claim")
    return found


def _numbers(value: Any) -> bool:
    """Return whether a claim is a number, two of them, or a list of points, not a long one."""
    if isinstance(value, list):
        flat = [one for part in value for one in (part if isinstance(part, list) else [part])]
        return 0 < len(flat) <= 2000 and all(type(one) in (int, float) for one in flat)
    return type(value) in (int, float)


def _pair(document: Document, reader: Reader) -> Pair[Any]:
    dataset, neighbour = reader.dataset, reader.neighbour
    if dataset is None and neighbour is None:
        with pair_of_the_file():
            return _relate_datasets(document, reader, *sides_of(document))
    if dataset is None or neighbour is None:
        raise DataError(f"{document.path}: needs both datasets: --dataset and --neighbour")
    return _relate_datasets(document, reader, dataset, neighbour)


def _relate_datasets(document: Document, reader: Reader, dataset: Any, neighbour: Any) -> Pair[Any]:
    """Return two datasets as a pair, under the relation of the reader or of the file."""
    from dpaudit.neighbours.found_relations import declare_relation, find_pair_relation

    if reader.relation is not None:
        declares = getattr(reader.mechanism, "names_datasets", False)
        own = declare_relation(reader.relation) if declares else reader.relation
        return find_pair_relation(dataset, neighbour, own)[0]
    declared = None if is_made(document) else _part(document, "pair").get("declared")
    relation = document.relation if declared is None else f"declared: {declared}"
    if (user := user_of(document)) is not None:
        relation = f"{document.relation}: {user}"
    _refuse_own_distance(document, relation)
    return find_pair_relation(dataset, neighbour, relation)[0]


def _refuse_own_distance(document: Document, relation: str) -> None:
    """Refuse a distance that somebody's code measures: nothing that a file names is imported."""
    from dpaudit.neighbours.distances import DISTANCES

    kind, _, distance = relation.partition(":")
    if kind == "metric" and distance.strip() not in DISTANCES:
        expected = "one that the reader names: --relation 'metric: module:function'"
        raise document.refused("relation", relation, expected)


def _chosen_relation(pair: Pair[Any], reader: Reader) -> tuple[str, ...]:
    """Return a reservation where nobody but the file says why the two are neighbours."""
    from dpaudit.neighbours.found_relations import (
        difference_in_words,
        format_relation_words,
        is_usual,
        keeps_order,
    )

    if reader.relation is not None:
        return ()
    if is_usual(pair.dataset, pair.neighbour, pair.relation):
        if keeps_order(pair.dataset, pair.neighbour):
            return ()
        named = f"--relation {pair.relation.name}"
        return (f"the two hold their records in different orders: {named} says it for who agrees",)
    stated = shorten_repr(format_relation_words(pair.relation))
    return (
        f"the file says what makes the two neighbours ({stated}), and "
        f"{difference_in_words(pair.dataset, pair.neighbour)}; --relation names it",
    )


def _other_records(document: Document, pair: Pair[Any]) -> list[str]:
    """Return which of the two are not those of the file."""
    from dpaudit.redaction import compute_data_fingerprint

    stated = _part(document, "pair")
    try:
        salt = bytes.fromhex(stated["salt"])
    except (KeyError, TypeError, ValueError):
        salt = b""
    # A short salt would let somebody who has only the certificate look up the hash of a guessed
    # dataset in a table made beforehand.
    if not 8 <= len(salt) <= 64:
        raise document.refused("instance.pair.salt", stated.get("salt"), "8 to 64 bytes as hex")
    sides = {"dataset": pair.dataset, "neighbour": pair.neighbour}
    return [
        f"{name}: is not that of the certificate"
        for name, side in sides.items()
        if compute_data_fingerprint(side, salt) != stated.get(name)
    ]
