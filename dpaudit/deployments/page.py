"""Pages of judgements: of one record for who runs it, and of all records as far as it is public."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dpaudit.deployments.check import Check, Outcome
from dpaudit.deployments.facts import Number, RecordFacts
from dpaudit.deployments.judgement import RecordJudgement, Verdict
from dpaudit.escaping import one_line

_SHOWN: Mapping[Outcome, str] = {
    "agrees": "agrees",
    "does not": "DOES NOT",
    "cannot be said": "cannot be said",
    "caution": "note",
}
_MISSING: Mapping[str, str] = {
    "variant": "the variant of differential privacy",
    "parameters": "any parameter (epsilon, rho, mu)",
    "unit": "whose data is protected",
    "relation": "which datasets are neighbours",
    "model": "who is trusted (central, local, shuffled)",
    "mechanism": "the mechanism",
    "noise": "how much noise is added",
    "composition": "what many releases add up to",
    "people": "how many people delta is about",
}
_PARAMETERS = ("epsilon", "delta", "rho", "mu", "order", "renyi")


def record_lines(judgement: RecordJudgement) -> Iterator[str]:
    """Yield all lines about a record: numbers that were read, checks, missing statements."""
    facts = judgement.facts
    yield f"{facts.record}: {_format_judgement_headline(judgement)}"
    yield "Numbers that were read:"
    yield from (f"  {_format_read_number(one)}" for one in facts.numbers())
    yield f"Named: {_format_named_facts(facts)}"
    if judgement.checks:
        yield "Comparisons:"
    for one in judgement.checks:
        yield from _check_lines(one)
    if judgement.missing:
        yield f"Missing: {'; '.join(_MISSING[one] for one in judgement.missing)}."
    for path in facts.absent:
        yield f"Missing for tier {facts.tier}: {path}"
    for words in facts.deviations:
        yield f"Not as the registry's schema asks: {words}"
    if facts.unread:
        yield f"Not read: {', '.join(facts.unread)}"


def _format_judgement_headline(judgement: RecordJudgement) -> str:
    if judgement.verdict == "agrees":
        made = sum(one.outcome == "agrees" for one in judgement.checks)
        return f"agrees ({made} comparison{'' if made == 1 else 's'})"
    found = judgement.discrepancies if judgement.verdict == "does not" else judgement.reasons
    words = "; ".join(one.words for one in found) or "nothing is stated that can be compared"
    between = ": " if judgement.verdict == "does not" else " because "
    return (
        f"{judgement.verdict}{' agree' if judgement.verdict == 'does not' else ''}{between}{words}"
    )


def _format_read_number(one: Number) -> str:
    per = f" a {one.per}" if one.per in ("hour", "day", "week", "month", "year") else ""
    value = f"{one.least:g} to {one.value:g}" if one.least is not None else f"{one.value:g}"
    role = "" if one.role in ("field", "text") else f", {one.role}"
    return one_line(f"{one.kind} = {one.written} ({value}{per}{role}) at {one.place}")


def _format_named_facts(facts: RecordFacts) -> str:
    """Return the names in the record, as keys."""
    named = {
        "variant": facts.variants,
        "unit": facts.entities,
        "a": facts.unit_periods,
        "released a": facts.refresh,
        "relation": facts.relations,
        "distance": facts.metrics,
        "model": [facts.model] if facts.model else [],
        "composition": facts.composition,
        "mechanism": facts.mechanisms,
    }
    said = [f"{name} {', '.join(keys)}" for name, keys in named.items() if keys]
    return "; ".join(said) or "nothing"


def _check_lines(one: Check) -> Iterator[str]:
    yield f"  {_SHOWN[one.outcome]}: {one_line(one.words)}"
    if one.places:
        yield f"    at {'; '.join(one.places)}"
    if one.command:
        yield f"    {one.command}"


# All records


def records_page(judgements: Sequence[RecordJudgement], *, is_lifted: bool, source: str) -> str:
    """Return the page of all records, in Markdown.

    Parameters
    ----------
    judgements
        One a record.
    is_lifted
        Whether discrepancies may be shown. Otherwise their number is all that is said, and no
        verdict stands beside a record: a list of those that agree would name the others.
    source
        The address and the version of the records.
    """
    parts = [
        "# What deployments state",
        _format_record_counts(judgements, is_lifted=is_lifted),
        f"Made by `make deployments` from the facts in `reports/deployments/`, which come from "
        f"{source}. "
        "[Statements of deployments](deployment-records.md) explains the comparisons. "
        "A verdict is only about the numbers of a record: only an audit shows whether the software "
        "does what the record says.",
        # Some comparisons are only ever made where they fail, so that their number tells of a
        # finding.
        *(["## What was compared", _render_comparison_counts(judgements)] if is_lifted else []),
        "## What each record states, and what it leaves out",
        _render_record_table(judgements, is_lifted=is_lifted),
    ]
    if is_lifted:
        parts += ["## What does not agree", *_render_discrepancies(judgements)]
        parts += ["## What cannot be said", *_render_reasons(judgements)]
    return "\n\n".join(parts) + "\n"


def count_verdicts(judgements: Iterable[RecordJudgement]) -> Counter[Verdict]:
    """Return how many records have each verdict."""
    return Counter(one.verdict for one in judgements)


def _format_record_counts(judgements: Sequence[RecordJudgement], *, is_lifted: bool) -> str:
    found = count_verdicts(judgements)
    findings = sum(len(one.discrepancies) for one in judgements)
    plural = "" if findings == 1 else "s"
    start = f"**{len(judgements)} records: "
    made = sum(len(one.checks) for one in judgements)
    end = f"{found['agrees']} agree, and for {found['cannot be said']} it cannot be said.** "
    end += f"This is the result of {made} comparisons."
    if is_lifted or not findings:
        return f"{start}{found['does not']} do not agree with themselves, {end}"
    return (
        f"{start}{findings} finding{plural} under disclosure; of the others {end} The "
        "findings are not public yet: the page states their number alone, and no record's verdict."
    )


def _render_comparison_counts(judgements: Sequence[RecordJudgement]) -> str:
    made = Counter(one.code for each in judgements for one in each.checks)
    rows = [f"| `{code}` | {number} |" for code, number in sorted(made.items())]
    return "\n".join(["| comparison | how often |", "|---|---|", *rows])


def _render_record_table(judgements: Sequence[RecordJudgement], *, is_lifted: bool) -> str:
    head = ["record", "tier", "variant", "parameters", "unit", "relation", "model", "mechanism"]
    head += ["not stated", *(["verdict"] if is_lifted else [])]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for one in judgements:
        cells = _format_record_cells(one) + ([one.verdict] if is_lifted else [])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _format_record_cells(judgement: RecordJudgement) -> list[str]:
    facts = judgement.facts
    named = facts.record.replace("_", " ")
    return [
        f"[{named}]({facts.address})" if facts.address else named,
        str(facts.tier or ""),
        ", ".join(facts.variants),
        ", ".join(f"{n.kind} {n.written}" for n in facts.fields if n.kind in _PARAMETERS),
        "-".join([*facts.entities[:1], *facts.unit_periods]),
        ", ".join(facts.relations),
        facts.model,
        ", ".join(facts.mechanisms),
        ", ".join(judgement.missing),
    ]


def _render_discrepancies(judgements: Sequence[RecordJudgement]) -> Iterator[str]:
    for one in judgements:
        for check in one.discrepancies:
            yield f"- {one.facts.record}: {check.words}."
            if check.command:
                yield f"  ```console\n  $ {check.command}\n  ```"


def _render_reasons(judgements: Sequence[RecordJudgement]) -> Iterator[str]:
    for one in judgements:
        if one.verdict == "cannot be said":
            yield f"- {one.facts.record}: {'; '.join(check.words for check in one.reasons)}."


def render_letter_draft(judgement: RecordJudgement) -> str:
    """Return the draft of a letter to the keeper of a record, about the disagreements in it."""
    facts = judgement.facts
    lines = [
        f"# {facts.record}: numbers that do not agree with each other",
        "Hello, and thank you for publishing this record. While reading it we saw numbers that do "
        "not seem to agree. It may well be that we misread it; then please tell us.",
        f"The record: {facts.address or facts.record}",
    ]
    for one in judgement.discrepancies:
        lines.append("\n".join(line.strip() for line in _check_lines(one)))
    return "\n\n".join(lines) + "\n"
