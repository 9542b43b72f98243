"""The page about what was measured: tables of ratios, and where dpaudit is behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

OURS = "dpaudit"
KIND = "f-DP"
LEAST = 1e-3  # seconds below which times are not told apart
Found = Mapping[str, Any]


def written(found: Mapping[str, Any]) -> str:
    """Return the page as Markdown."""
    lines = [
        "# Beside other packages",
        "",
        "Made by `make peers`, which gives every package the same work, one after the other, each",
        "in a separate environment, and writes this page. Do not edit it.",
        "",
        f"Measured on {found['machine']}, in one thread. Times are processor times: medians over",
        f"{found['repeats']} answers for accountants and {found['draws']} draws for auditors, or 2",
        "draws if one takes over five seconds. *Over our time* is a package's time divided by",
        "dpaudit's, and *ours over it* is dpaudit's bound divided by the package's: a ratio above",
        "1 speaks for dpaudit.",
        "",
        *[f"* {name}: `{' '.join(given)}`" for name, given in found["requirements"].items()],
        "",
        *_accounts(found["accounts"]),
        *_audits(_AUDITS, found["audits"]),
        *_audits(_CANARIES, found["canaries"]),
        *_sniper(found["sniper"], found["quick"]),
        "## Where dpaudit is behind",
        "",
        *(behind(found) or ["Nowhere in this run."]),
        "",
    ]
    return "\n".join(lines)


def ours(rows: Sequence[Found], row: Found) -> Found | None:
    """Return dpaudit's own row of the same work: of the same kind, if there are several."""
    own = [one for one in rows if one["work"] == row["work"] and one["peer"] == OURS]
    alike = [one for one in own if (KIND in one["method"]) == (KIND in row["method"])]
    return next(iter([*alike, *own]), None)


def ratio(above: float | None, below: float | None) -> float | None:
    """Return a ratio, None where there is none.

    Examples
    --------
    >>> ratio(3.0, 2.0), ratio(None, 2.0), ratio(1.0, 0.0)
    (1.5, None, None)
    """
    return above / below if above is not None and below else None


def faster(rows: Sequence[Found], row: Found) -> float | None:
    """Return how many times dpaudit's time a package takes."""
    own = ours(rows, row)
    if own is None or row["seconds"] is None or own["seconds"] is None:
        return None
    return float(max(row["seconds"], LEAST) / max(own["seconds"], LEAST))


def excess(rows: Sequence[Found], row: Found) -> float | None:
    """Return how far an upper end is above the lower end of dpaudit's bracket."""
    own = ours(rows, row)
    if own is None or own["lower"] is None or row["upper"] is None:
        return None
    return max(0.0, float(row["upper"] - own["lower"]))


def higher(rows: Sequence[Found], row: Found) -> float | None:
    """Return how many times a package's lower end dpaudit certifies."""
    own = ours(rows, row)
    return None if own is None else ratio(own["lower"], row["lower"])


# Tables


def _accounts(rows: Sequence[Found]) -> Iterator[str]:
    yield from (
        "## Epsilon of a release at delta = 1e-5",
        "",
        "*Above the truth* is the upper end less the certified lower end of dpaudit's bracket;",
        "*first* is the time of the first answer, in ms. Ratios take times below 1 ms as 1 ms.",
        "",
        "| release | package | method | epsilon | above the truth | ms | first | over our time |",
        "|---|---|---|---:|---:|---:|---:|---:|",
    )
    for row in _by_work(rows):
        said = (shown(row["upper"], 6), shown(excess(rows, row), 2), ms(row["seconds"]))
        yield _line(row, *said, ms(row["first"]), times(rows, row, faster))
    yield ""


_AUDITS = (
    "## Epsilon certified from scores of runs, at 95% confidence",
    "",
    "The scores of runs with a canary and of runs without it are Gaussian, with means mu apart;",
    "the table gives the number of runs of each kind. Every package gets the same draws.",
    "privacy-estimates takes counts, so we gave it the threshold half way between the two means,",
    "which an auditor does not know.",
)
_CANARIES = (
    "## Epsilon certified from canaries of one run, at 95% confidence",
    "",
    "Here the same scores are those of canaries that one run included or left out. The f-DP bound",
    "of jax-privacy holds if the run is Gaussian differentially private; our bound assumes only",
    "(epsilon, delta) and is smaller. `claim=GaussianDP(mu)` bounds mu, which is not compared.",
)


def _audits(heading: Sequence[str], rows: Sequence[Found]) -> Iterator[str]:
    yield from (
        *heading,
        "",
        "| scores | package | method | true | certified | ours over it | ms | over our time |",
        "|---|---|---|---:|---:|---:|---:|---:|",
    )
    for row in _by_work(rows):
        said = (shown(row["true"], 4), shown(row["lower"], 4), times(rows, row, higher))
        yield _line(row, *said, ms(row["seconds"]), times(rows, row, faster))
    yield ""


def _sniper(rows: Sequence[Found], quick: bool) -> Iterator[str]:
    drawn = "a tenth of a million" if quick else "up to 25 million"
    yield from (
        "## DP-Sniper's mechanisms at 90% confidence",
        "",
        "DP-Sniper published its numbers, from 2·10^8 final samples. The numbers of dpaudit are",
        f"from this run: it sees outputs alone, and {drawn} of them certify. *True* is the",
        "epsilon of the best event.",
        "",
        "| mechanism | true | dpaudit | DP-Sniper | ours over it | attack | CPU s |",
        "|---|---:|---:|---:|---:|---|---:|",
    )
    for row in rows:
        if row["peer"] != OURS:
            continue
        theirs = next(one for one in rows if one["work"] == row["work"] and one["peer"] != OURS)
        cells = (
            row["work"],
            shown(row["true"], 4),
            shown(row["lower"], 4),
            shown(theirs["lower"], 4),
            shown(ratio(row["lower"], theirs["lower"]), 3),
            row["method"],
            shown(row["seconds"], 2),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def behind(found: Mapping[str, Any]) -> list[str]:
    """Return a line for everything in which another package is ahead."""
    lines = [_slower(found["accounts"], row) for row in found["accounts"]]
    lines += [_wider(found["accounts"], row) for row in found["accounts"]]
    for part in ("audits", "canaries"):
        lines += [_lower(found[part], row) for row in found[part]]
        lines += [_slower(found[part], row) for row in found[part]]
    lines += [_lower(found["sniper"], row) for row in found["sniper"]]
    return [line for line in lines if line]


def _slower(rows: Sequence[Found], row: Found) -> str:
    value = faster(rows, row)
    if row["peer"] == OURS or value is None or value >= 1:
        return ""
    wide = excess(rows, row)
    told = "" if wide is None else f", {wide:.2g} above the truth"
    return f"* {row['work']}: {_who(row)} takes {value:.2g} times our time{told}."


def _wider(rows: Sequence[Found], row: Found) -> str:
    own, value = ours(rows, row), excess(rows, row)
    if own is None or value is None or row["peer"] == OURS:
        return ""
    wide = excess(rows, own) or 0.0
    # Below our lower end another package contradicts us: that is for `dpaudit scan` to judge.
    if not 0 < value < wide:
        return ""
    return f"* {row['work']}: {_who(row)} is {value:.2g} above the truth, we are {wide:.2g}."


def _lower(rows: Sequence[Found], row: Found) -> str:
    value = higher(rows, row)
    if row["peer"] == OURS or value is None or value >= 1:
        return ""
    return f"* {row['work']}: we certify {value:.3g} times what {_who(row)} does."


def _who(row: Found) -> str:
    return f"{row['peer']} ({row['method']})"


# Cells


def _by_work(rows: Sequence[Found]) -> list[Found]:
    order = list(dict.fromkeys(row["work"] for row in rows))
    return sorted(rows, key=lambda row: order.index(row["work"]))


def _line(row: Found, *cells: str) -> str:
    why = row["words"].partition(":")[0]
    method = f"{row['method']} ({why})" if why else row["method"]
    return f"| {' | '.join((row['work'], row['peer'], method, *cells))} |"


def times(rows: Sequence[Found], row: Found, measure: Any) -> str:
    """Return a ratio as a cell, bold where it is below 1."""
    value = None if row["peer"] == OURS else measure(rows, row)
    if value is None:
        return "—"
    return f"**{value:.2g}**" if value < 1 else f"{value:.3g}"


def ms(seconds: float | None) -> str:
    """Return milliseconds, ``< 1`` below one.

    Examples
    --------
    >>> ms(0.0123), ms(0.0), ms(None)
    ('12.3', '< 1', '—')
    """
    return "< 1" if seconds is not None and seconds < LEAST else shown(_thousand(seconds), 3)


def _thousand(value: float | None) -> float | None:
    return None if value is None else 1e3 * value


def shown(value: float | None, digits: int) -> str:
    """Return a number with so many digits, a dash where there is none."""
    return "—" if value is None else f"{value:.{digits}g}"
