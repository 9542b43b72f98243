"""Facts of a record, from its entries: the registry's layout, or any with keys that are known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import dpaudit.deployments.registry as registry
import dpaudit.deployments.vocabulary as vocabulary
from dpaudit.deployments.documents import DocumentScalar, read_entries
from dpaudit.deployments.facts import Equation, Kind, Number, RecordFacts, RecordTotal, Scope
from dpaudit.deployments.fields import number_of, parameter_of, plain_key
from dpaudit.deployments.mentions import Mention, Text, mentions_in
from dpaudit.deployments.numerals import normalise_spelling
from dpaudit.deployments.sums import equations_in, totals_in
from dpaudit.errors import DataError
from dpaudit.escaping import one_line

_URL = re.compile(r"https?://[^\s<>\"'`)\]]+[^\s<>\"'`)\].,;:]")
_PARTS = frozenset(
    {
        "parts",
        "components",
        "queries",
        "releases",
        "budgets",
        "mechanisms",
        "breakdown",
        "allocations",
        "tables",
    }
)
# What a key says beside numbers.
_WORDS: Mapping[str, str] = {
    "variant_name": "variant",
    "variant": "variant",
    "flavor": "variant",
    "flavour": "variant",
    "dp_flavor": "variant",
    "privacy_flavor": "variant",
    "definition": "variant",
    "privacy_definition": "variant",
    "guarantee": "variant",
    "type": "variant",
    "privacy_unit": "unit",
    "unit": "unit",
    "granularity": "unit",
    "privacy_unit_details": "unit-details",
    "unit_details": "unit-details",
    "relation": "relation",
    "neighbours": "relation",
    "neighbors": "relation",
    "adjacency": "relation",
    "neighbouring": "relation",
    "neighboring": "relation",
    "model_name": "model",
    "model": "model",
    "deployment_model": "model",
    "trust_model": "model",
    "model_name_details": "model-details",
    "release_type": "release",
    "release_type_details": "release-details",
    "refresh": "release-details",
    "frequency": "release-details",
    "period": "release-details",
    "composition": "composition",
    "mechanisms": "mechanism",
    "mechanism": "mechanism",
    "noise": "mechanism",
    "algorithm": "mechanism",
    "privacy_parameters_details": "details",
    "details": "details",
    "statement": "details",
    "parameters": "details",
    "claim": "details",
    "privacy": "details",
    "data_source_type_details": "text",
    "unprotected_quantities": "background",
    "post_processing": "background",
    "preprocessing_and_hyperparameter_tuning": "background",
    "justification": "background",
    "notes": "background",
    "description": "background",
    "actors": "background",
    "data_domain": "background",
    "access_type_details": "background",
    "name": "name",
    "title": "name",
    "url_slug": "name",
    "address": "source",
    "url": "source",
    "source": "source",
    "sources": "source",
    "tier": "tier",
    "status": "status",
    "intended_use": "ignored",
    "data_curators": "ignored",
    "curator": "ignored",
    "vendor": "ignored",
    "data_product_type": "ignored",
    "data_product_region": "ignored",
    "data_product_sector": "ignored",
    "publication_date": "ignored",
    "date": "ignored",
    "data_source_type": "ignored",
    "access_type": "ignored",
    "registry_authors": "ignored",
}
# Texts whose sums count; of the others the numbers alone.
_SUMMED = frozenset(
    {"details", "composition", "mechanism", "text", "release-details", "unit-details"}
)
_MINED = _SUMMED | {"background", "model-details", "variant", "unit"}
_LINKED = re.compile(
    r"correspond|equivalent|i\.e\.|impl|convert|translat|which is|equals|giv|yield|provid|that is|"
    r"(?:→|⇒|=>|->)|\bor\b|mean(?:s|ing)|results? in|lead",
    re.IGNORECASE,
)
_JOINED = re.compile(r"[\s,()]*(?:and|with|at|where|,)?[\s,()]*")
_CROWD = re.compile(
    r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)\+?\s*(thousand|million|billion)?\s+(?:\w+\s+)?"
    r"(?:people|users|individuals|persons|participants|patients|members|respondents|customers|"
    r"clients)\b"
    r"(?!\s+(?:per|each))|\b[nN]\s*=\s*(\d{1,3}(?:,\d{3})+|\d+)\b(?! (?:days|weeks|queries))",
)
_TIMES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}


@dataclass
class _Draft:
    """Facts while they are gathered."""

    said: dict[str, list[DocumentScalar]] = field(default_factory=dict)
    fields: list[Number] = field(default_factory=list)
    parts: dict[tuple[str, ...], list[Number]] = field(default_factory=dict)
    part_words: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    scopes: list[Scope] = field(default_factory=list)
    totals: list[RecordTotal] = field(default_factory=list)
    equations: list[Equation] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    people: list[Number] = field(default_factory=list)

    def text(self, *kinds: str) -> str:
        """Return all that is said under these keys."""
        return "\n".join(
            normalise_spelling(one.text) for kind in kinds for one in self.said.get(kind, [])
        )


def read_facts(path: Path, address: str = "") -> RecordFacts:
    r"""Return the facts of a record.

    Parameters
    ----------
    path
        A file in YAML, JSON or TOML.
    address
        Where it is published.

    Raises
    ------
    DataError
        It cannot be read, is damaged, or holds nothing that a record would.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "record.yaml"
    ...     _ = file.write_text("mechanism: Laplace\nepsilon: 1.0\nunit: user-day\n")
    ...     facts = read_facts(file)
    >>> facts.fields[0].value, facts.mechanisms, facts.unit_periods
    (1.0, ['laplace'], ['day'])
    """
    facts = facts_of(read_entries(path), path.stem, address)
    said = (facts.fields, facts.scopes, facts.variants, facts.formulas)
    # A record of the registry that states nothing is judged all the same: what it lacks is the
    # answer.
    if not any(said) and facts.layout != "registry":
        expected = "a record with epsilon, delta, rho, a variant or a mechanism"
        raise DataError(f"{path}: holds no statement of privacy, expected {expected}")
    return facts


def facts_of(entries: Sequence[DocumentScalar], record: str, address: str = "") -> RecordFacts:
    """Return the facts of a record's entries that can be judged."""
    draft = _Draft()
    is_registry = registry.is_registry(entries)
    for entry in entries:
        _add_entry(draft, entry, is_registry=is_registry)
    _read_texts(draft)
    _read_parts(draft)
    everything = _find_named_facts(draft)
    tier = _parse_tier(draft)
    return RecordFacts(
        record=one_line(record),
        address=address,
        layout="registry" if is_registry else "statement",
        tier=tier,
        status=_find_known_status(draft),
        deviations=list(registry.deviations_of(entries)) if is_registry else [],
        absent=registry.absent_of(entries, tier or 0) if is_registry else [],
        **everything,
    )


def _add_entry(draft: _Draft, entry: DocumentScalar, *, is_registry: bool) -> None:
    """Put an entry where it belongs."""
    names = _names_of(entry)
    part = _part_of(entry.keys)
    named = parameter_of(names[-1]) if names else None
    if entry.text.strip() in ("", "null", "~"):
        return
    if named is not None and not (is_registry and names[-1] in ("mechanisms", "users")):
        _gather_number(draft, entry, *named, part=part)
        return
    kind = _WORDS.get(plain_key(names[-1])) if names else None
    if part is not None:
        draft.part_words.setdefault(part, []).append(entry.text)
        return
    if kind is None:
        draft.unread.append(entry.path)
    elif kind != "ignored":
        draft.said.setdefault(kind, []).append(entry)


_AMOUNTS = frozenset({"value", "amount", "details"})
_INNER = _AMOUNTS | frozenset({"name", "type", "kind", "description"})


def _names_of(entry: DocumentScalar) -> list[str]:
    """Return an entry's keys, without places in lists, and without "value" of a known key."""
    names = [key for key in entry.keys if not key.isdecimal()]
    if len(names) > 1 and plain_key(names[-1]) in _INNER:
        above = names[-2]
        is_number = parameter_of(above) is not None and plain_key(names[-1]) in _AMOUNTS
        if is_number or _WORDS.get(plain_key(above)) in _NAMED:
            return names[:-1]
    return names


_NAMED = frozenset({"mechanism", "variant", "unit", "relation", "model", "composition"})


def _part_of(keys: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the keys of the part of a budget that an entry is in, if it is in one."""
    for place, key in enumerate(keys[:-1]):
        if plain_key(key) in _PARTS and place + 2 < len(keys):
            return keys[: place + 2]
    return None


def _gather_number(
    draft: _Draft,
    entry: DocumentScalar,
    kind: Kind,
    role: str,
    per: str,
    part: tuple[str, ...] | None,
) -> None:
    number = number_of(kind, entry.text, entry.path, entry.line)
    if number is None:
        draft.formulas.append(entry.path)
        draft.said.setdefault("formula", []).append(entry)
        return
    if role != "field":
        number = number.model_copy(update={"role": role, "per": per})
    if part is not None:
        draft.parts.setdefault(part, []).append(number.model_copy(update={"role": "part"}))
    else:
        draft.fields.append(number)


def _read_texts(draft: _Draft) -> None:
    """Read the numbers of all texts, and which of them belong together."""
    variants = vocabulary.variants_in(draft.text("variant"))
    # What a zCDP record calls its privacy budget is rho.
    budget: Kind = "rho" if "zcdp" in variants else "epsilon"
    for kind, entries in draft.said.items():
        if kind not in _MINED:
            continue
        for entry in entries:
            text = Text(entry.text, entry.path, entry.line)
            mentions = mentions_in(text, budget=budget)
            draft.scopes += scopes_of(text, mentions)
            draft.people += _find_people_numbers(text)
            if kind in _SUMMED:
                draft.totals += totals_in(text, mentions, draft.fields)
                draft.equations += equations_in(text)


def scopes_of(text: Text, mentions: Sequence[Mention]) -> list[Scope]:
    """Return the numbers that stand together: of a clause, up to the second of one kind."""
    groups: list[list[Mention]] = []
    for one in mentions:
        last = groups[-1] if groups else []
        repeated = any(each.number.kind == one.number.kind for each in last)
        if last and last[-1].clause == one.clause and not repeated:
            last.append(one)
        else:
            groups.append([one])
    return [_make_scope(text, group) for group in groups]


def _make_scope(text: Text, group: Sequence[Mention]) -> Scope:
    between = text.text[group[0].end : group[-1].start] if len(group) > 1 else ""
    gaps = [text.text[one.end : after.start] for one, after in pairwise(group)]
    return Scope(
        numbers=[one.number for one in group],
        mechanisms=vocabulary.mechanisms_in(text.clause(group[0].clause)),
        linked=bool(_LINKED.search(between)) or (bool(gaps) and all(map(_JOINED.fullmatch, gaps))),
    )


def _find_people_numbers(text: Text) -> list[Number]:
    found = []
    for hit in _CROWD.finditer(text.text):
        digits = (hit.group(1) or hit.group(3)).replace(",", "")
        value = float(digits) * _TIMES.get((hit.group(2) or "").lower(), 1.0)
        written = " ".join(one for one in (digits, hit.group(2) or "") if one)
        number = Number(
            kind="people",
            value=value,
            written=written,
            path=text.path,
            line=text.line_at(hit.start()),
        )
        found.append(number)
    return found


def _read_parts(draft: _Draft) -> None:
    """Make scopes of a record's list of parts, and say that its totals are made up of them."""
    for part, numbers in draft.parts.items():
        said = "\n".join(draft.part_words.get(part, []))
        names = vocabulary.mechanisms_in(said)
        draft.scopes.append(Scope(numbers=numbers, mechanisms=names, linked=True))
    for kind in ("epsilon", "delta", "rho"):
        parts = [
            one.model_copy(update={"value": one.value * _get_count_value(numbers)})
            for numbers in draft.parts.values()
            for one in numbers
            if one.kind == kind and one.is_single
        ]
        total = _total_of(draft.fields, kind)
        if total is not None and parts:
            draft.totals.append(RecordTotal(total=total, parts=parts))
    _read_repeats(draft)


def _get_count_value(numbers: Sequence[Number]) -> float:
    return next((one.value for one in numbers if one.kind == "count"), 1.0)


def _total_of(fields: Iterable[Number], kind: str) -> Number | None:
    same = [one for one in fields if one.kind == kind and one.role in ("total", "field")]
    return next((one for one in same if one.role == "total"), same[0] if same else None)


def _read_repeats(draft: _Draft) -> None:
    """Note that a total is a multiple of one release's parameter, where both are fields."""
    count = next((one for one in draft.fields if one.kind == "count"), None)
    for kind in ("epsilon", "delta", "rho"):
        each = [one for one in draft.fields if one.kind == kind and one.role == "each"]
        total = _total_of(draft.fields, kind)
        if total is not None and total.role == "total" and not each:
            each = [one for one in draft.fields if one.kind == kind and one.role == "field"]
        if count is None or total is None or not each or count.value <= 1:
            continue
        factor = _count_periods(count, each[0].per)
        # A field that has the number of one release repeats it, and is no total.
        repeats = total.role != "total" and total.value == each[0].value
        if factor is not None and not repeats:
            draft.totals.append(
                RecordTotal(total=total, parts=each[:1], factor=factor, way="times")
            )


# Only periods that always hold equally many of another: months differ in days, and years in weeks.
_INNER_PERIODS = {
    ("day", "hour"): 24,
    ("week", "day"): 7,
    ("quarter", "month"): 3,
    ("year", "month"): 12,
    ("year", "quarter"): 4,
}


def _count_periods(count: Number, per: str) -> float | None:
    """Return how many periods a count is of; None where its own are not made up of them."""
    own = next(iter(vocabulary.periods_in(plain_key(count.path.rpartition(".")[2]))), "")
    if not own or per in ("", "each", own):
        return count.value
    inner = _INNER_PERIODS.get((own, per))
    return None if inner is None else inner * count.value


def _find_named_facts(draft: _Draft) -> dict[str, Any]:
    """Return the names in the words of the record, as keys."""
    unit = draft.text("unit")
    details = draft.text("unit-details", "relation")
    around = draft.text("model-details")
    mechanism = draft.text("mechanism")
    parts = "\n".join(one for each in draft.part_words.values() for one in each)
    numbers = draft.text("details", "composition", "mechanism", "model-details")
    people = [one for one in draft.fields if one.kind == "people"] or _select_single_number(
        draft.people
    )
    return {
        "sources": _find_source_addresses(draft),
        "variants": vocabulary.variants_in(draft.text("variant")),
        "entities": vocabulary.entities_in(unit),
        "unit_periods": vocabulary.periods_in(unit),
        "refresh": vocabulary.refresh_in(draft.text("release-details")),
        "releases": _find_release_kind(draft.text("release")),
        "relations": vocabulary.relations_in(f"{details}\n{around}\n{unit}"),
        "metrics": vocabulary.metrics_in(details),
        "distance": _find_input_distance(details),
        "model": next(iter(vocabulary.models_in(draft.text("model"))), ""),
        "composition": _find_composition_kinds(draft),
        "mechanisms": vocabulary.mechanisms_in(f"{mechanism}\n{parts}"),
        "remarks": vocabulary.remarks_in(numbers),
        "fields": [one for one in draft.fields if one.kind != "people"] + people,
        "scopes": draft.scopes,
        "totals": draft.totals,
        "equations": draft.equations,
        "formulas": draft.formulas,
        "unread": draft.unread,
    }


def _select_single_number(people: Sequence[Number]) -> list[Number]:
    # Where texts count two crowds, nobody says which of them delta is about.
    return list(people[:1]) if len({one.value for one in people}) == 1 else []


def _find_composition_kinds(draft: _Draft) -> list[str]:
    """Return the kinds of composition that are named; that parts are disjoint counts anywhere."""
    found = vocabulary.composition_in(draft.text("composition", "release-details"))
    around = vocabulary.composition_in(draft.text("details", "unit-details", "mechanism"))
    return [*found, *({"parallel"} & {*around} - {*found})]


def _find_source_addresses(draft: _Draft) -> list[str]:
    found = [hit for one in draft.said.get("source", []) for hit in _URL.findall(one.text)]
    return list(dict.fromkeys(one_line(one) for one in found))


def _find_release_kind(text: str) -> str:
    lowered = text.lower()
    if "many" in lowered or "continual" in lowered or "repeated" in lowered:
        return "many"
    return "one" if "one" in lowered or "single" in lowered else ""


def _find_input_distance(text: str) -> float | None:
    found = re.search(
        r"maximum (?:input )?distance(?: of)?(?:.{0,90}?\bis)?\s+(one|two|\d+)\b",
        text,
        re.IGNORECASE | re.DOTALL,
    )
    if found is None:
        return None
    return {"one": 1.0, "two": 2.0}.get(found.group(1).lower()) or float(found.group(1))


def _parse_tier(draft: _Draft) -> int | None:
    tiers = [one.text for one in draft.said.get("tier", []) if one.text.isdecimal()]
    # Python refuses to convert thousands of digits, and a stranger may write them.
    return int(tiers[0]) if tiers and len(tiers[0]) < 3 else None


def _find_known_status(draft: _Draft) -> str:
    known = {one.text for one in draft.said.get("status", [])} & {*registry.CHOICES["status"]}
    return next(iter(known), "")
