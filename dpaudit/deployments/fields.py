"""Keys of records, and which parameter a key is of: one table for all layouts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dpaudit.deployments.facts import Kind, Number, Role
from dpaudit.deployments.mentions import Text, mentions_in
from dpaudit.deployments.numerals import Numeral, normalise_spelling, numeral_at, read_numeral
from dpaudit.deployments.vocabulary import periods_in

_GREEK = str.maketrans({"ε": "epsilon", "δ": "delta", "ρ": "rho", "μ": "mu", "σ": "sigma"})
_KINDS: Mapping[str, Kind] = {
    "epsilon": "epsilon",
    "eps": "epsilon",
    "privacy_budget": "epsilon",
    "delta": "delta",
    "rho": "rho",
    "zcdp": "rho",
    "mu": "mu",
    "gdp": "mu",
    "order": "order",
    "alpha": "order",
    "renyi_order": "order",
    "rdp_order": "order",
    "renyi": "renyi",
    "renyi_epsilon": "renyi",
    "rdp": "renyi",
    "rdp_epsilon": "renyi",
    "renyi_divergence": "renyi",
    "sensitivity": "sensitivity",
    "l1_sensitivity": "sensitivity",
    "l2_sensitivity": "sensitivity",
    "scale": "scale",
    "noise_scale": "scale",
    "laplace_scale": "scale",
    "sigma": "sigma",
    "noise_std": "sigma",
    "std": "sigma",
    "stddev": "sigma",
    "standard_deviation": "sigma",
    "noise_standard_deviation": "sigma",
    "variance": "variance",
    "noise_variance": "variance",
    "noise_multiplier": "multiplier",
    "flip_probability": "flip",
    "flip": "flip",
    "flipping_probability": "flip",
    "truth_probability": "truth",
    "truth": "truth",
    "categories": "categories",
    "sampling_rate": "sampling",
    "sampling_ratio": "sampling",
    "sampling_probability": "sampling",
    "people": "people",
    "population": "people",
    "users": "people",
    "individuals": "people",
    "records": "people",
    "dataset_size": "people",
    "number_of_people": "people",
    "number_of_users": "people",
    "n": "people",
    "count": "count",
    "releases": "count",
    "number_of_releases": "count",
    "periods": "count",
    "queries": "count",
    "number_of_queries": "count",
    "days": "count",
    "weeks": "count",
    "months": "count",
    "rounds": "count",
    "steps": "count",
    "iterations": "count",
}
_TOTAL = re.compile(r"^(?:total|overall|cumulative|global)_|_(?:total|overall|cumulative)$")
# Papers on shuffling write epsilon_0 for the epsilon of one report.
_LOCAL = re.compile(r"^local_|_local$|_0$")
_EACH = re.compile(
    r"_per_(\w+)$|^(per_\w+?|daily|weekly|monthly|hourly|yearly|annual)_|_(daily|weekly|monthly|"
    r"each)$"
)


def plain_key(key: str) -> str:
    """Return a key in small letters, with underscores.

    Examples
    --------
    >>> plain_key("Total ε"), plain_key("noiseMultiplier")
    ('total_epsilon', 'noise_multiplier')
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower()
    return re.sub(r"[^a-z0-9]+", "_", normalise_spelling(words).translate(_GREEK)).strip("_")


def parameter_of(key: str) -> tuple[Kind, Role, str] | None:
    """Return the kind, the role and the ``per`` of the parameter that a key names; or None.

    Examples
    --------
    >>> parameter_of("epsilon_per_day"), parameter_of("totalEpsilon"), parameter_of("name")
    (('epsilon', 'each', 'day'), ('epsilon', 'total', ''), None)
    """
    plain = plain_key(key)
    for pattern, role in ((_TOTAL, "total"), (_LOCAL, "local")):
        rest = pattern.sub("", plain)
        if rest != plain and rest in _KINDS:
            return _KINDS[rest], role, ""  # type: ignore[return-value]  # roles of the line above
    each = _EACH.search(plain)
    rest = _EACH.sub("", plain)
    if each is not None and rest in _KINDS:
        word = next(one for one in each.groups() if one)
        periods = periods_in(word)
        return _KINDS[rest], "each", periods[0] if periods else "each"
    return (_KINDS[plain], "field", "") if plain in _KINDS else None


def number_of(kind: Kind, text: str, path: str, line: int) -> Number | None:
    """Return the number that a field holds, also where words stand around it; or None.

    Examples
    --------
    >>> number_of("epsilon", "ε = 2 per day", "epsilon", 3).per
    'day'
    >>> number_of("delta", "n^{(-2)}", "delta", 4) is None
    True
    """
    powers = kind == "delta"
    numeral = read_numeral(text.strip().strip("\"'"), powers=powers)
    if numeral is not None:
        return _make_field_number(kind, numeral, path, line)
    body = Text(text, path, line)
    named = [one.number for one in mentions_in(body) if one.number.kind == kind]
    if named:
        role: Role = "field" if named[0].role in ("text", "total") else named[0].role
        return named[0].model_copy(update={"role": role})
    plain = re.sub(
        r"^[\s~≈≤<]*(?:(?:about|approximately|at most|up to)\s+)?", "", normalise_spelling(text)
    )
    start = numeral_at(plain, powers=powers)
    # What an operator or a letter follows is the beginning of a formula, such as 2n, and not its
    # value.
    if start is None or re.match(r"\s*[\^*/+(]|[\w:]", plain[start[1] :]):
        return None
    rest = re.match(r"[\s(]*(?:per|each|every|/|a)\b\s*(\w+)?", plain[start[1] :], re.IGNORECASE)
    number = _make_field_number(kind, start[0], path, line)
    if rest is None:
        return number
    periods = periods_in(rest.group(1) or "")
    return number.model_copy(update={"role": "each", "per": periods[0] if periods else "each"})


def _make_field_number(kind: Kind, numeral: Numeral, path: str, line: int) -> Number:
    return Number(
        kind=kind,
        value=numeral.value,
        least=numeral.least,
        slack=numeral.slack,
        written=numeral.written,
        path=path,
        line=line,
        role="field",
    )
