"""The index of many reports: the claims that fail, those that hold, and by how much.

A claim counts by its audits as its source prints it: it is refuted if one of them is. Variants, and
questions that nobody claims, stand apart and count for nothing.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from importlib.resources import files

from dpaudit.escaping import make_printable, one_line
from dpaudit.report.catalogue import Catalogue
from dpaudit.report.formatting import (
    ResultNumbers,
    format_percent,
    format_significant,
    get_divisor,
    share_of,
    value_of,
)
from dpaudit.report.groups import ClaimGroup, group_claims
from dpaudit.report.render import make_template_environment, missing_audits
from dpaudit.report.schema import Result, Standing
from dpaudit.report.thumbnails import place_of
from dpaudit.verdicts import Verdict, choose_gravest_verdict

_SECTIONS: tuple[tuple[Standing, str, str], ...] = (
    ("claim", "Claims, as printed", "Each as its source prints it, some at several numbers."),
    (
        "variant",
        "Variants",
        "Stricter, looser and corrected statements, and other constants: no verdict on a claim.",
    ),
    ("question", "Questions", "What nobody claims, and those who audit wanted to know."),
)
_SUREST = 0.9999
NOTHING_KNOWN = Catalogue()
_SELF_TEST = "selftest/selftest"  # and the ending
_SCRIPT = files("dpaudit.report").joinpath("templates/index.js").read_text(encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class IndexRow:
    """A line of the index: a folder, the place in its report, and the result there."""

    folder: str
    place: int
    result: Result
    shown: ResultNumbers
    certified: bool

    @property
    def plainly(self) -> str:
        """The result in one sentence."""
        return format_plain_finding(self.result)

    @property
    def ratio(self) -> float | None:
        """The measured number over the claimed one, where that is a ratio."""
        claimed = get_divisor(self.result)
        return None if claimed is None else self.result.measured.lower / claimed

    @property
    def sorted_by(self) -> str:
        """The ratio as the page's script reads it; nothing where there is none."""
        if self.ratio is None:
            return ""
        return "Infinity" if math.isinf(self.ratio) else repr(self.ratio)


@dataclass(frozen=True)
class MissingAudit:
    """Why an audit that was asked for gave no result, and whether it failed or was not run."""

    why: str
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class IndexSection:
    """Audits of claims that fall by one cause, or on which the verdict is the same."""

    title: str = ""
    kind: str = ""
    text: str = ""
    rows: Sequence[IndexRow]


@dataclass(frozen=True, kw_only=True)
class Section:
    """Audits that stand for the same: claims, variants of them, or questions."""

    title: str
    says: str
    parts: Sequence[IndexSection]

    @property
    def rows(self) -> list[IndexRow]:
        """All of its audits."""
        return [row for part in self.parts for row in part.rows]


def render_index(
    rows: Sequence[IndexRow],
    missing: Mapping[str, MissingAudit] | None = None,
    *,
    html: bool,
    self_test: bool = False,
    catalogue: Catalogue = NOTHING_KNOWN,
) -> str:
    """Return the index as a page, or as Markdown.

    Parameters
    ----------
    rows
        Every audit that gave a result.
    missing
        The others, and why there is none.
    html
        Whether a page is asked for.
    self_test
        Whether the self-test stands beside it, to be linked.
    catalogue
        The claims' names, and why they fall.
    """
    page = make_template_environment(html=html).get_template(
        "index.html.j2" if html else "index.md.j2"
    )
    text = page.render(
        sections=make_index_sections(rows, catalogue),
        rows=rows,
        outcome=format_index_headline(rows),
        papers=catalogue.counts,
        surety=_format_index_surety(rows),
        missing=_format_missing_audits(len(rows), missing or {}),
        groups=_by_cause(rows, catalogue),
        titles=catalogue.titles,
        self_test=_SELF_TEST if self_test else None,
        script=_SCRIPT,
        script_hash=_compute_script_hash(_SCRIPT),
    )
    return make_printable(text)


def make_index_sections(
    rows: Sequence[IndexRow], catalogue: Catalogue = NOTHING_KNOWN
) -> list[Section]:
    """Return the rows by their standing, without the sections that have none."""
    found = list[Section]()
    for which, title, says in _SECTIONS:
        inside = [row for row in rows if row.result.standing == which]
        parts = (
            _make_cause_parts(inside, catalogue)
            if which == "claim"
            else [IndexSection(rows=inside)]
        )
        found += [Section(title=title, says=says, parts=parts)] if inside else []
    return found


def _make_cause_parts(rows: Sequence[IndexRow], catalogue: Catalogue) -> list[IndexSection]:
    """Return the audits of claims by the causes of refutations, each claim's as they were."""
    parts = list[IndexSection]()
    for group in _by_cause(rows, catalogue):
        claims = [tile.claim for tile in group.tiles]
        inside = [row for claim in claims for row in rows if row.result.claim == claim]
        parts.append(IndexSection(title=group.title, kind=group.kind, text=group.text, rows=inside))
    return parts


def format_index_headline(rows: Sequence[IndexRow]) -> str:
    """Return the finding: how many claims fail as printed, and how many nothing contradicts."""
    verdicts = _find_claim_verdicts(rows)
    counts = Counter[str](verdicts.values())
    if not verdicts:
        return "No claim was audited."
    several = len(verdicts) > 1
    of = f"{len(verdicts)} claims" if several else "1 claim"
    said = [
        f"{counts['refuted'] or 'None'} of {of} {_format_is_or_are(counts['refuted'])} refuted "
        "as printed"
    ]
    if counts["proved"] and counts["not refuted"]:
        said.append(f"a theorem proves {counts['proved']}")
    elif counts["proved"]:
        said.append(f"a theorem proves {_format_other_claims(counts['proved'], counts)}")
    if counts["not refuted"]:
        said.append(
            "nothing that was tried contradicts "
            f"{_format_other_claims(counts['not refuted'], counts)}"
        )
    if counts["withheld"]:
        said.append(f"the verdict on {counts['withheld']} is withheld")
    return "; ".join(said) + "."


def _find_claim_verdicts(rows: Sequence[IndexRow]) -> dict[str, Verdict]:
    """Return the verdict on each claim: refuted if an audit of it as printed is."""
    found = dict[str, Verdict]()
    for row in rows:
        if row.result.standing == "claim":
            known = found.get(row.result.claim, row.result.verdict)
            found[row.result.claim] = choose_gravest_verdict([known, row.result.verdict])
    return found


def _format_is_or_are(count: int) -> str:
    return "is" if count < 2 else "are"


def _format_other_claims(count: int, counts: Mapping[str, int]) -> str:
    if counts["refuted"] and not counts["withheld"]:
        return "the other" if count == 1 else f"the other {count}"
    return f"{count}"


def format_plain_finding(result: Result) -> str:
    """Return the result as one sentence for people.

    A bound on epsilon says how sure an attacker who started with even odds is after some output.
    """
    claimed, lower = value_of(result.claimed, result.kind), result.measured.lower
    if result.verdict == "withheld":
        return "Nothing can be said."
    if claimed is None:
        return f"At least {format_significant(lower, rounding=ROUND_FLOOR)} was found."
    if result.kind == "privacy" and result.quantity is None:
        if lower <= 0:
            return "Nothing that was tried tells the two datasets apart."
        return (
            f"An attacker goes from 50% to {_format_attacker_certainty(lower)} sure; claimed: "
            f"{_format_attacker_certainty(claimed)}."
        )
    ratio = get_divisor(result)
    if ratio is None:
        reached = format_significant(lower, rounding=ROUND_FLOOR)
        return f"It reaches {reached}, where {format_significant(claimed)} is claimed."
    times = lower / ratio
    if times > 1:
        return f"It is {format_significant(times, 2, ROUND_FLOOR)} times what is claimed."
    return f"It reaches {share_of(max(times, 0.0), 1.0)} of what is claimed."


def _format_attacker_certainty(epsilon: float) -> str:
    # With even odds before, (epsilon, 0)-DP leaves at most odds of exp(epsilon) after any
    # output.
    share = 1 / (1 + math.exp(-epsilon))
    if share == 1:
        return "entirely" if math.isinf(epsilon) else "almost entirely"
    return f"more than {format_percent(_SUREST)}" if share > _SUREST else share_of(share, 1.0)


def _by_cause(rows: Sequence[IndexRow], catalogue: Catalogue) -> list[ClaimGroup[IndexRow]]:
    """Return the claims as printed, by cause of refutation; each one's worst audit comes first."""
    printed = [row for row in rows if row.result.standing == "claim"]
    worst = sorted(printed, key=_get_excess_sort_key, reverse=True)
    return group_claims(worst, catalogue)


def _get_excess_sort_key(row: IndexRow) -> tuple[bool, float]:
    claimed = value_of(row.result.claimed, row.result.kind)
    excess = -1.0 if claimed is None else place_of(row.result.measured.lower, claimed)
    return row.result.verdict == "refuted", excess


def _format_missing_audits(there: int, missing: Mapping[str, MissingAudit]) -> str:
    """Return how many of all audits are there, and which are not; nothing if all are."""
    failed = all(one.failed for one in missing.values())
    return missing_audits(
        there,
        [f"{one_line(name)} ({one_line(one.why)})" for name, one in missing.items()],
        "Only {} audits gave a verdict" if failed else "Interrupted, {}",
    )


def _compute_script_hash(script: str) -> str:
    """Return the hash of the page's only script, for its policy."""
    # The policy of the page allows the script of this hash alone, so that no text in a report
    # can run as one.
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _format_alpha(alpha: float) -> str:
    return format_significant(alpha, rounding=ROUND_CEILING)


def _format_index_surety(rows: Sequence[IndexRow]) -> str:
    """Return the confidence of the whole index, and how it is shared."""
    spent = [row.result.alpha for row in rows if row.result.alpha > 0]
    if not spent:
        return "Every number was computed without drawing: none is left to chance."
    alpha = math.fsum(spent)
    drawn = "1 audit that draws" if len(spent) == 1 else f"{len(spent)} audits that draw"
    return (
        f"All of it together holds at {format_percent(1 - alpha)} confidence: the {drawn} share "
        "one error "
        f"probability of {_format_alpha(alpha)}, at most {_format_alpha(max(spent))} each, and "
        "the other "
        f"{len(rows) - len(spent)} were computed and spend none. Each report alone holds at what "
        "it states, which is more."
    )
