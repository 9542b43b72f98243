"""The page of DPriv-Bench's questions, from what audits said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.dpriv_bench.questions import BETA, EPSILON, ITEMS, MECHANISMS, RECORDS, RHO

Found = Mapping[str, Any]
_ABOUT = (
    "# DPriv-Bench, category 1",
    "",
    "Made by `make dpriv-bench`. Do not edit it.",
    "",
    "DPriv-Bench (arXiv 2604.15851) asks language models whether mechanisms keep their claims. Its",
    "first category combines 49 statistics of numbers in [0, 1] with each of several mechanisms;",
    "each combination has a claim that holds and one that does not. Neighbours differ in one",
    "number, which is replaced. dpaudit first tries to prove each claim from the code, for all",
    "data. If it finds no proof, it audits the mechanism. Proof and audit get the domain and the",
    "claim, but no dataset and no label:",
    "",
    "```python",
    "import dpaudit",
    "",
    "",
    "def release(data, rng):",
    '    """The sum of the steps moves by 2, but its noise is that of a sensitivity of 1."""',
    "    return abs(data[1:] - data[:-1]).sum() + rng.laplace(scale=1.0)",
    "",
    "",
    'asked = dict(domain=dict(bounds=(0, 1), records=5), relation="replace-record", epsilon=1.0)',
    "print(dpaudit.prove(release, **asked).verdict, dpaudit.audit(release, **asked).verdict)",
    "```",
    "",
    "Its second category asks whether statements of theorems and algorithms are true. We do not",
    "have its text, so we count none of it.",
    "",
)


def written(found: Found) -> str:
    """Return the page as Markdown."""
    rows = [row for some in found["rows"].values() for row in some]
    lines = [
        *_ABOUT,
        *_how(found),
        *_summary(found["rows"]),
        *_disagreements(rows),
        *_lines_of(rows),
        *_variants(rows),
        *_tables(found["rows"]),
    ]
    return "\n".join(lines)


def agrees(row: Found) -> bool:
    """Return whether a verdict is what the label asks for.

    Examples
    --------
    >>> agrees({"label": True, "verdict": "not refuted"})
    True
    >>> agrees({"label": False, "verdict": "proved"})
    False
    """
    return bool(row["verdict"] in (("proved", "not refuted") if row["label"] else ("refuted",)))


def is_decided(row: Found) -> bool:
    """Return whether a claim is proved or refuted."""
    return row["verdict"] in ("proved", "refuted")


def _how(found: Found) -> Iterator[str]:
    options = found["options"]
    true, false = (options[f"confidence_{label}"] for label in ("true", "false"))
    where = "in processes of their own" if options["isolated"] else "in the process of the audit"
    yield from (
        f"There are {RECORDS} records; epsilon is {EPSILON:g}, beta {BETA:g} and rho {RHO:g}.",
        f"An audit draws {options['trials']} outputs on each dataset, and",
        f"{options['choice_trials']} if the mechanism chooses one of {ITEMS} items. Its confidence",
        f"is {true:g} for claims labelled true and {false:g} for those labelled false; nothing",
        f"else in an audit depends on the label. The mechanisms run {where}:",
        "they draw from their generator alone and keep nothing, and the outputs that refute a",
        f"claim are drawn again in other processes. All audits have seed {options['seed']}, so",
        "statistics that move alike get the same bound. A claim that is not refuted is not thereby",
        "proved.",
        *([f"The audits are those of a run of {found['audited']}."] if found["audited"] else []),
        "",
        f"Measured on {found['machine']}. *CPU s* are the CPU seconds of all processes, on a",
        "machine that may have done other work.",
        "",
    )


def _summary(rows: Mapping[str, Sequence[Found]]) -> Iterator[str]:
    yield from (
        "| mechanism | questions | true, proved | true, refuted | false, proved | false, refuted |"
        " decided | CPU s of proofs | CPU s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    )
    sums = [_counts(_asked(some)) for some in rows.values()]
    for name, counts in zip(rows, sums, strict=True):
        yield _line(MECHANISMS[name].name, *_cells(counts))
    yield _line("all", *_cells([sum(column) for column in zip(*sums, strict=True)]))
    yield ""


def _asked(rows: Sequence[Found]) -> list[Found]:
    """Return the questions of DPriv-Bench, without our variants of them."""
    return [row for row in rows if not row["why"]]


def _counts(rows: Sequence[Found]) -> list[float]:
    true, false = ([row for row in rows if row["label"] is label] for label in (True, False))
    said = [
        sum(row["verdict"] == verdict for row in some)
        for some in (true, false)
        for verdict in ("proved", "refuted")
    ]
    seconds = [sum(row[of] for row in rows) for of in ("proof_seconds", "seconds")]
    return [len(rows), len(true), len(false), *said, sum(map(is_decided, rows)), *seconds]


def _cells(counts: Sequence[float]) -> list[str]:
    asked, true, false, *said, decided, proofs, seconds = counts
    of = (true, true, false, false)
    return [
        f"{asked:g}",
        *(f"{some:g} of {all_of:g}" for some, all_of in zip(said, of, strict=True)),
        f"{decided:g}",
        f"{proofs:.1f}",
        f"{seconds:.0f}",
    ]


def _disagreements(rows: Sequence[Found]) -> Iterator[str]:
    yield from ("## Where verdict and label disagree", "")
    found = [row for row in _asked(rows) if not agrees(row)]
    yield from map(_disagreement, found)
    yield from ([] if found else ["Nowhere in this run."])
    yield ""


def _lines_of(rows: Sequence[Found]) -> Iterator[str]:
    """Yield where proofs of true claims stop, each place once."""
    found: dict[str, list[str]] = {}
    for row in (one for one in rows if one["verdict"] == "not refuted"):
        which = f"{MECHANISMS[row['mechanism']].name} {row['number']}"
        found.setdefault(_end(row), []).append(which)
    yield from ("## Where a proof stops", "")
    yield from (f"* {escaped(end)}: {', '.join(which)}." for end, which in found.items())
    yield from ([] if found else ["Nowhere: every claim that is not proved is refuted."])
    yield ""


def _end(row: Found) -> str:
    """Return where a proof of a row stops, or what it proves instead."""
    return row["line"] or f"at most {row['proved']:.4g} is proved"


def _disagreement(row: Found) -> str:
    label = "true" if row["label"] else "false"
    which = f"{MECHANISMS[row['mechanism']].name}, {row['number']}, {row['statistic']}"
    certified = f"; at least {row['lower']:.3g} is certified" if row["lower"] else ""
    return f"* {which}: labelled {label}, {row['verdict']}{certified}."


def _variants(rows: Sequence[Found]) -> Iterator[str]:
    yield from (
        "## Where a label depends on more than the question says",
        "",
        f"With {RECORDS} records, every claimed sensitivity is the true one. In the cases below,",
        "it is at least twice the true one, so half of the noise is enough: the claim that is",
        "labelled false holds, and an audit must not refute it.",
        "",
        "| mechanism | statistic | n | verdict | proved | certified | because |",
        "|---|---|---:|---|---:|---:|---|",
    )
    for row in (one for one in rows if one["why"]):
        formula = f"{row['number']}, {escaped(row['formula'])}"
        yield _line(
            MECHANISMS[row["mechanism"]].name,
            formula,
            str(row["records"]),
            row["verdict"],
            "—" if row["proved"] is None else f"{row['proved']:.3g}",
            "—" if row["verdict"] == "proved" else f"{row['lower']:.3g}",
            row["why"],
        )
    yield ""


def _tables(rows: Mapping[str, Sequence[Found]]) -> Iterator[str]:
    yield from (
        "## Every question",
        "",
        "For each mechanism, the first column is for the claim labelled true and the second for",
        "the one labelled false: the proved upper bound (≤), or the certified lower bound (≥),",
        "which is **bold** if it refutes the claim. The bounds are on beta for *Gaussian, GDP*, on",
        "rho for *Gaussian, zCDP*, and on epsilon otherwise.",
        "",
    )
    names = [MECHANISMS[name].name for name in rows]
    yield _line("", "statistic", "claimed", *(f"{name}, {of}" for name in names for of in _LABELS))
    yield _line("---:", "---", "---", *["---:"] * (2 * len(names)))
    asked = {
        (row["number"], name, row["label"]): row for name in rows for row in _asked(rows[name])
    }
    for number in sorted({key[0] for key in asked}):
        one = next(row for key, row in asked.items() if key[0] == number)
        cells = (_certified(asked.get((number, name, label))) for name in rows for label in _TRUTH)
        yield _line(str(number), escaped(one["formula"]), one["claimed"], *cells)
    yield ""


_LABELS, _TRUTH = ("true", "false"), (True, False)


def _certified(row: Found | None) -> str:
    if row is None:
        return "—"
    if row["verdict"] == "proved":
        return f"≤ {row['proved']:.3g}"
    value = f"≥ {row['lower']:.3g}"
    if row["verdict"] == "not refuted":
        return value
    return f"**{value}**" if row["verdict"] == "refuted" else row["verdict"]


def escaped(formula: str) -> str:
    """Return a formula as a cell: a bar would end it, and a star or an underscore change type."""
    return "".join(f"\\{one}" if one in "|*_" else one for one in formula)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
