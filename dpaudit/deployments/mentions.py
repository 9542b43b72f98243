"""Numbers in free text: the parameter and the scope of each, and which belong together.

A number is read only beside the parameter's own name or letter. What is not read so is left out,
and every number that was read is shown with its place, so that a misreading is seen.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dpaudit.deployments.facts import Kind, Number, Role
from dpaudit.deployments.numerals import Numeral, normalise_spelling, numeral_at
from dpaudit.deployments.vocabulary import periods_in
from dpaudit.errors import DataError

_SUBSCRIPT = r"(?:_\w+|\s*['′’]+)*"
_NOUN = (
    r"(?:[- ]?(?:values?|parameters?|levels?|budgets?|privacy|loss|costs?|guarantees?|"
    r"z?CDP|GDP|DP|bound|consumption|spent|per \w+))*"
)
_NEAR = (
    r"(?:about|approximately|approx\.?|roughly|around|at most|up to|exactly|just|only|≈|<=?|≤|~)"
)
_LINK = (
    r"(?:\s*(?:=|:|≈|≤|≥|<=?|>=?)|\s+(?:of|is|was|are|equals?|equal to|being|becomes|remains at|"
    r"(?:is |was |are |being )?set (?:to|at)|is given by|amounts? to))"
)
# The patterns ignore case, but for letters whose capital is another symbol: δ and Δ, λ and Λ.
_SYMBOLS: Mapping[Kind, str] = {
    "epsilon": r"(?:ε|\bepsilon\b|\beps\b)",
    "delta": r"(?:(?-i:δ)|\bdelta\b)",
    "rho": r"(?:ρ|\brho\b)",
    "mu": r"(?:μ|\bmu\b)",
    "order": r"(?:α|\balpha\b|\border\b)",
    "multiplier": r"\bnoise[- ]multiplier\b",
    "sensitivity": r"\b(?:(?:global|query|[Ll]_?[12]|ℓ_?[12])[- ])?sensitivity\b(?: Δ)?|"
    r"(?-i:Δ)(?:f|_[12])?",
    "scale": r"(?-i:λ)|\b(?:noise |Laplace )?scale(?: parameter)?(?: b)?\b|\bb(?=\s*=)",
    "variance": r"\bvariance\b|σ\s?\^2",
    "sigma": r"(?:σ|\bsigma\b|\bstandard deviation\b|\bstd\.?(?: dev)?)",
    "flip": r"\bflip(?:s|ped|ping)?(?: \w+){0,4}? (?:with )?probability(?: p)?\b|"
    r"\bflip(?:ping)?[- ](?:probability|rate)\b|"
    r"\bprobability of flipping(?: \w+){0,3}",
    "truth": r"\b(?:truth\w*|honest\w*)(?: \w+){0,4}? (?:with )?probability\b|"
    r"\bprobability of (?:a )?(?:truth\w*|honest\w*)(?: \w+){0,2}",
    "categories": r"\b(?:number of )?(?:categories|possible answers)\b|\bk(?=-ary)",
    "sampling": r"\b(?:sampling (?:rate|ratio|probability|fraction)|amplification factor['’]?)",
}
_PATTERNS = {
    kind: re.compile(
        rf"(?:{symbol}){_SUBSCRIPT}{_NOUN}['’\"”)]*(?:{_LINK}|\s+(?=[\d.]))\s*(?:{_NEAR}\s*)*",
        re.IGNORECASE,
    )
    for kind, symbol in _SYMBOLS.items()
}
_BETWEEN: Mapping[Kind, re.Pattern[str]] = {
    "rho": re.compile(
        r"(?:ρ|rho)\s*[- ]\s*zCDP\b[^.;:=\d]{0,40}?\b(?:is|of|=)\s*(?:about\s*)?", re.I
    ),
    "mu": re.compile(r"(?:μ|mu)\s*[- ]\s*GDP\b[^.;:=\d]{0,40}?\b(?:is|of|=)\s*(?:about\s*)?", re.I),
    "epsilon": re.compile(
        r"\bprivacy[- ](?:loss(?: budget)?|budget|cost)\b[^.;:=\dερδμ]{0,60}?\b(?:is|of|was)\s*"
        r"(?:about\s*)?(?=[\d.])",
        re.I,
    ),
}
_PAIR = re.compile(
    r"\(\s*(?:ε|epsilon|eps)\s*,\s*(?:δ|delta)\s*\)\s*(?:-?\s*DP)?\s*(?:=|of|is|being|:)\s*\(\s*",
    re.I,
)
_BARE_PAIR = re.compile(r"\(\s*(?=[\d.]|ln|log)")
_RENYI_ENDS = re.compile(r"\s*\)\s*[-\s]\s*(?:RDP\b|R[eé]nyi)", re.IGNORECASE)
_PAIR_ENDS = re.compile(r"\s*\)\s*[-\s]\s*(?:DP\b|differential|approximate)", re.I)
_BEFORE_DP = re.compile(r"(?<![\w.,(^])(?=[\d.])")
_DP = re.compile(r"\s*-\s*(?:pure )?(?:DP\b|differential(?:ly)?[- ]priva)", re.I)
_ZCDP = re.compile(r"\s*-?\s*zCDP\b", re.I)
_GDP = re.compile(r"\s*-\s*GDP\b", re.I)
_TOTAL = re.compile(
    r"\b(?:total\w*|overall|final|altogether|combined|entire|cumulative|global budget|in all|"
    r"whole|sums? to|adds? up to|global privacy)\b",
    re.I,
)
_EACH_AFTER = re.compile(
    r"^[\s)\]\"”']*(?:-?\s?(?:DP|differential privacy|differentially private)\s)?"
    r"(?:(?:budget |was |is )?(?:spent |used |applied )?)?(?:for |to |in "
    r")?(?:per\b|each\b|every\b|/|"
    r"an?(?=\s(?:hour|day|week|month|quarter|year|query|release|round)))[\s-]*"
    r"(?:single )?(\w+)?",
    re.I,
)
_EACH_BEFORE = re.compile(r"\b(?:each|every|per[- ]\w+|daily|weekly|monthly|individual)\b", re.I)
_ASIDE = re.compile(
    r"\b(?:incorrect\w*|earlier|instead|rather than|would|previous\w*|experiment\w*|example|"
    r"demonstrat\w+|initially|before|pre-?amplification|if not|not use|never|originally|"
    r"(?:guarantee|stronger|weaker|smaller|larger|lower|higher|better|less|tighter)\b.{0,12}\bthan|"
    r"all (?:\w+ )?(?:products|deployments|programs|datasets|statistics)|other|"
    r"evaluat\w+ with|(?:reduc|decreas|lower|chang)\w+ from|reduc\w+|amplif\w+|prior to)\b",
    re.I,
)
_LOCAL = re.compile(r"\blocal(?:ly)?\b|_0\b|_local\b|\bldp\b", re.I)
_BREAK = re.compile(
    r"\n\s*(?:[-*•]|\d+[.)])\s|\n\s*\n|•|(?<=[.!?])[\"”')]*\s+(?=[A-Z\"“(\[])|;(?![^()\n]*\))"
)
_URL = re.compile(r"https?://\S+")
_GOES_ON = re.compile(r"\s*\^|[a-zA-Z]{2}|\s*[+*×·]\s*[\d(]")  # a formula, a word, a sum

_MOST = 1000  # numbers of a text


@dataclass(frozen=True)
class Mention:
    """A number in a text, with the words around it in its clause."""

    number: Number
    start: int
    end: int
    clause: int
    before: str
    after: str


class Text:
    """A text of a record, in one spelling, with the place of each of its lines."""

    def __init__(self, raw: str, path: str, line: int) -> None:
        self.path, self._line = path, line
        # An address may hold "epsilon=1" and states nothing.
        plain = _URL.sub(lambda found: " " * len(found.group()), raw)
        self.text = normalise_spelling(plain)
        self._starts = [0, *(found.end() for found in re.finditer("\n", self.text))]
        self._breaks = [found.start() for found in _BREAK.finditer(self.text)]

    def line_at(self, place: int) -> int:
        """Return the line of the file, 0 where it is not known."""
        return self._line + bisect_right(self._starts, place) - 1 if self._line else 0

    def clause_at(self, place: int) -> int:
        """Return which clause of the text a place is in."""
        return bisect_right(self._breaks, place)

    def clause(self, which: int) -> str:
        """Return a clause's words."""
        ends = [0, *self._breaks, len(self.text)]
        return self.text[ends[which] : ends[which + 1]]

    def number(self, kind: Kind, numeral: Numeral, place: int, role: Role = "text") -> Number:
        """Return a number of this text."""
        return Number(
            kind=kind,
            value=numeral.value,
            least=numeral.least,
            slack=numeral.slack,
            written=numeral.written,
            path=self.path,
            line=self.line_at(place),
            role=role,
        )


def mentions_in(text: Text, *, budget: Kind = "epsilon") -> list[Mention]:
    r"""Return the parameters that a text states, in order.

    Parameters
    ----------
    text
        The text.
    budget
        What a "privacy budget of 2" is of that names no letter.

    Examples
    --------
    >>> text = Text(r"\\(\rho\\) = 2.56 was used (corresponding to \\(\epsilon\\)=17.14)", "a", 1)
    >>> [(one.number.kind, one.number.value) for one in mentions_in(text)]
    [('rho', 2.56), ('epsilon', 17.14)]
    >>> pair = Text("a final (34.9, 7 × 10−9)-DP guarantee each month", "a", 1)
    >>> [(one.number.kind, one.number.value, one.number.role) for one in mentions_in(pair)]
    [('epsilon', 34.9, 'total'), ('delta', 7e-09, 'total')]
    """
    found: dict[int, tuple[Kind, Numeral, int, int]] = {}
    for kind, numeral, start, place, end in _find_parameter_hits(text.text, budget):
        # A number is of one kind. The first pattern that reads it decides, so that the variance
        # stands before sigma, whose letter it has.
        found.setdefault(place, (kind, numeral, start, end))
    ordered = sorted(found.values(), key=lambda one: one[3])
    if len(ordered) > _MOST:
        raise DataError(f"{text.path}: states {len(ordered)} numbers, at most {_MOST} are read")
    mentions: list[Mention] = []
    for kind, numeral, start, end in ordered:
        # Within the mention before it: two patterns met the same words.
        if mentions and start < mentions[-1].end and end <= mentions[-1].end:
            continue
        mentions.append(_make_bare_mention(text, kind, numeral, start, end))
    found_roles = [_with_role(text, mentions, place) for place in range(len(mentions))]
    return [*map(_as_its_pair, found_roles, [*found_roles[1:], None])]


def _as_its_pair(one: Mention, following: Mention | None) -> Mention:
    """Return the first number of a pair with the role and unit that stand behind the second."""
    if following is None or following.start != one.end or one.number.role == "local":
        return one
    said = {"role": following.number.role, "per": following.number.per}
    return replace(one, number=one.number.model_copy(update=said))


def _find_parameter_hits(text: str, budget: Kind) -> Iterator[tuple[Kind, Numeral, int, int, int]]:
    """Yield the kind, the number, where its name begins, where it begins, and where it ends."""
    for kind, pattern in _PATTERNS.items():
        for hit in pattern.finditer(text):
            yield from _read_number_after(text, kind, hit.start(), hit.end())
    for kind, pattern in _BETWEEN.items():
        for hit in pattern.finditer(text):
            yield from _read_number_after(
                text, budget if kind == "epsilon" else kind, hit.start(), hit.end()
            )
    for hit in _PAIR.finditer(text):
        yield from _read_number_pair(text, hit.start(), hit.end(), is_named=True)
    for hit in _BARE_PAIR.finditer(text):
        yield from _read_number_pair(text, hit.start(), hit.end(), is_named=False)
    for hit in _BEFORE_DP.finditer(text):
        yield from _read_number_before_name(text, hit.start())


def _read_number_after(
    text: str, kind: Kind, start: int, place: int
) -> Iterator[tuple[Kind, Numeral, int, int, int]]:
    found = numeral_at(text, place, powers=kind == "delta")
    if found is not None and not _GOES_ON.match(text, found[1]):
        yield kind, found[0], start, place, found[1]


def _read_number_pair(
    text: str, start: int, place: int, *, is_named: bool
) -> Iterator[tuple[Kind, Numeral, int, int, int]]:
    first = numeral_at(text, place)
    if first is None:
        return
    comma = re.compile(r"\s*,\s*").match(text, first[1])
    second = comma and numeral_at(text, comma.end(), powers=True)
    if not comma or not second:
        return
    # (alpha, epsilon)-RDP has the order first.
    if _RENYI_ENDS.match(text, second[1]):
        yield "order", first[0], start, place, first[1]
        yield "renyi", second[0], first[1], comma.end(), second[1]
        return
    # Any two numbers in parentheses look like a pair: if no name precedes them, "DP" has to follow.
    if not (is_named or _PAIR_ENDS.match(text, second[1])):
        return
    yield "epsilon", first[0], start, place, first[1]
    yield "delta", second[0], first[1], comma.end(), second[1]


def _read_number_before_name(
    text: str, place: int
) -> Iterator[tuple[Kind, Numeral, int, int, int]]:
    found = numeral_at(text, place)
    if found is None:
        return
    named: tuple[tuple[Kind, re.Pattern[str]], ...] = (
        ("epsilon", _DP),
        ("rho", _ZCDP),
        ("mu", _GDP),
    )
    for kind, pattern in named:
        if pattern.match(text, found[1]):
            yield kind, found[0], place, place, found[1]


def _make_bare_mention(text: Text, kind: Kind, numeral: Numeral, start: int, end: int) -> Mention:
    number = text.number(kind, numeral, end - 1)
    return Mention(number, start, end, text.clause_at(start), "", "")


def _with_role(text: Text, mentions: list[Mention], place: int) -> Mention:
    one = mentions[place]
    earlier = [
        each.end for each in mentions[max(0, place - 1) : place] if each.clause == one.clause
    ]
    later = [each.start for each in mentions[place + 1 : place + 2] if each.clause == one.clause]
    clause_start = [0, *text._breaks][one.clause]
    clause_end = [*text._breaks, len(text.text)][one.clause]
    # Words further away than that, or beyond another number, are rarely said of this one.
    before = text.text[max(earlier[-1] if earlier else clause_start, one.start - 90) : one.start]
    after = text.text[one.end : min(later[0] if later else clause_end, one.end + 60)]
    # A pair's second number shares what is said of the first.
    if earlier and place and not re.search(r"\w{4}", before):
        before = mentions[place - 1].before + before
    named = text.text[one.start : one.end]
    role, per = _find_mention_role(before, named, after)
    number = one.number.model_copy(update={"role": role, "per": per})
    done = replace(one, number=number, before=before, after=after)
    mentions[place] = done
    return done


def _find_mention_role(before: str, named: str, after: str) -> tuple[Role, str]:
    each = _EACH_AFTER.match(after)
    if _LOCAL.search(before[-30:] + named):
        return "local", ""
    per = "" if each is None else _one_of(each.group(1) or "")
    if each is not None and not _TOTAL.search(before + named):
        return "each", per
    if _ASIDE.search(before):
        return "aside", ""
    if each is not None:
        return "total", per
    if _TOTAL.search(before + named) or re.match(r"[\s)]*(?:in total|overall|altogether)", after):
        return "total", ""
    inner = re.search(r"\bper[- ](\w+)", named) or re.search(r"\bper[- ](\w+)\W*$", before)
    if inner is not None or _EACH_BEFORE.search(before[-40:]):
        return "each", _one_of(inner.group(1) if inner else before[-40:])
    return "text", ""


def _one_of(word: str) -> str:
    periods = periods_in(word)
    return periods[0] if periods else "each"
