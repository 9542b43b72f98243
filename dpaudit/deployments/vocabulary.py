"""Words of records, and the keys under which facts keep them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_NOISE = (
    r"(?:\s+(?:mechanisms?|noise|distributions?|algorithms?|perturbation|queries|query)\b|"
    r"[\s.,;]*$|\s*[,;/&+]|\s+and\b|\s*\()"
)
# Words of a mechanism; what has "of_a_list" counts only as noise or as an item of a list.
_MECHANISMS: Mapping[str, str] = {
    "discrete-gaussian": r"discrete[- ]gaussian",
    "gaussian": rf"(?:gaussian|normal){_NOISE}|"
    r"(?:gaussian|normal(?:ly distributed)?) (?:random )?noise|N\(0",
    "geometric": r"\bgeometric\b(?! mean)|discrete[- ]laplace",
    "laplace": rf"\blaplac(?:e|ian){_NOISE}|laplac(?:e|ian) (?:random )?noise|\blaplac(?:e|ian)\b",
    "exponential": r"exponential mechanism",
    "gumbel": r"gumbel",
    "randomised-response": r"randomi[sz]ed[- ]response|bit[- ]flipping|\brappor\b|\bk?rr\b",
    "rounding": r"randomi[sz]ed rounding",
    "sketch": r"count[- ]mean[- ]sketch|\bp?h?cms\b",
    "sparse-vector": r"sparse[- ]vector|above[- ]threshold",
    "noisy-max": r"noisy[- ]max",
    "dp-sgd": r"\b(?:dp|noisy)[- ]?sgd\b",
    "dp-ftrl": r"\bdp[- ]?ftrl\b|tree aggregation",
    "privbayes": r"privbayes",
    "gan": r"\bgan\b",
    "set-union": r"set[- ]union",
    "smooth-sensitivity": r"smooth(?:ed)?[- ]sensitivity",
    "top-down": r"top-?down",
    "synthetic": r"synthetic data",
    "private-selection": r"private selection",
}
_NO_NOISE = re.compile(
    r"(?:\bnot\b|\bno\b|\bover(?: the)?|instead of|rather than|unlike|without|replac\w+|than|"
    r"truncated|bounded|clipped)\s+(?:\w+\s+){0,2}$",
    re.IGNORECASE,
)
GAUSSIAN = frozenset({"gaussian", "discrete-gaussian"})
PURE = frozenset(
    {"laplace", "geometric", "randomised-response", "exponential", "gumbel", "rounding", "sketch"}
)
# Mechanisms of which noise, sampling or several steps make the guarantee, not one noise alone.
COMPOSITE = frozenset({"dp-sgd", "dp-ftrl", "gan", "synthetic", "set-union", "privbayes"})

_VARIANTS: Mapping[str, str] = {
    "approximate": r"\bapprox|\(\s*(?:ε|epsilon)\s*,\s*(?:δ|delta)\s*\)",
    "zcdp": r"\bzcdp\b|zero[- ]concentrated|^\s*(?:ρ|rho)[- ]",
    "renyi": r"r[eé]nyi|\brdp\b",
    "gdp": r"\bgdp\b|gaussian (?:dp|differential)|\bμ-gdp\b",
    "pure": r"\bpure\b|^\s*(?:ε|epsilon)-?\s*(?:dp|differential)",
    "custom": r"\bcustom\b",
}
_PERIODS: Mapping[str, str] = {
    "hour": r"\bhours?\b|hourly",
    "quarter-day": r"quarter[- ]day|\b6 hours\b|\bsix hours\b",
    "day": r"(?<!quarter-)(?<!quarter )\bdays?\b|\bdaily\b",
    "week": r"\bweeks?\b|weekly",
    "month": r"\bmonths?\b|monthly",
    "quarter": r"\bquarters?\b(?![- ]day)|quarterly",
    "year": r"\byears?\b|yearly|annual",
}
DAYS: Mapping[str, float] = {
    "hour": 1 / 24,
    "quarter-day": 0.25,
    "day": 1,
    "week": 7,
    "month": 30,
    "quarter": 91,
    "year": 365,
}
_ENTITIES: Mapping[str, str] = {
    "user": r"\busers?\b|\bmembers?\b|\bcustomers?\b|\baccounts?\b",
    "person": r"\bpersons?\b|\bpeople\b|\bindividuals?\b|\bpatients?\b|\bbirth",
    "device": r"\bdevices?\b",
    "household": r"\bhouseholds?\b|\bhousing",
    "event": r"\bevents?\b|\bactions?\b|\btrips?\b|\bcontribution",
    "record": r"\brecords?\b|\btuples?\b|\brows?\b",
    "establishment": r"\bestablishments?\b|\bbusiness",
    "aggregate": r"\baggregate",
}
_WHOLE = frozenset({"user", "person", "device", "household"})
_RELATIONS: Mapping[str, str] = {
    "replace": r"\bchange[- ]one\b|\breplac(?:e|es|ed|ing|ement)[- ]|"
    r"\breplacement\b|\bsubstitut\w*|"
    r"(?<!un)\bbounded[” \"']*(?:neighbo|differential|dp\b|adjacen)|by the modification of|hamming",
    "add-remove": r"\badd(?:ition|ing|s|ed)?(?: ?/ ?| or |-or-| and |-and-|-)(?:remov\w+|delet\w+|"
    r"subtract\w*)|\bunbounded[” \"']*(?:neighbo|differential|dp\b|adjacen)|zero[- ]out",
}
_METRICS: Mapping[str, str] = {
    "symmetric": r"symmetric (?:distance|difference)",
    "change-one": r"change[- ]one (?:distance|metric)|hamming distance",
}
_MODELS: Mapping[str, str] = {
    "shuffle": r"shuffl",
    "distributed": r"distributed",
    "local": r"\blocal\b|\bldp\b",
    "central": r"\bcentral|\bglobal\b|\btrusted curator",
    "varies": r"\bvaries\b",
}
_COMPOSITION: Mapping[str, str] = {
    "none-said": r"no information was provided",
    "parallel": r"\bparallel\b|disjoint|partition(?:ed|s)?\b|no overlap|non-?overlapping|"
    r"mutually exclusive|\b(?:each|every|a|no) (?:person|user|individual|member|household|record|"
    r"customer|patient|device) (?:is|are|appears?|belongs?|contributes?|counts?|falls?)\b"
    r"(?: \w+){0,3}? (?:one|a single|only one|exactly one|more than one) "
    r"(?!day|week|month|year)\w+",
    "advanced": r"\badvanced\b|\bstrong(?:er)? composition|\bmoments? accountant|"
    r"\boptimal composition|\bpld\b|privacy loss distribution|r[eé]nyi|accountant",
    "sequential": r"\bsequential|\bbasic composition|\bsum(?:s|med|ming)?\b",
    "zcdp": r"\bzcdp\b",
    "group": r"group privacy",
}
_REMARKS: Mapping[str, str] = {
    "amplification": r"amplif|subsampl|secure aggregation|unlinkable|shuffl|poisson sampl",
    "unit-vector": r"one[- ]hot|unary|bit vector|binary vector",
    "threshold": r"threshold",
    "gdp": r"\bgdp\b",
}


def keys_in(text: str, words: Mapping[str, str]) -> list[str]:
    """Return the keys of which a text has a word, in the order of ``words``."""
    return [key for key, pattern in words.items() if re.search(pattern, text, re.IGNORECASE)]


def variants_in(text: str) -> list[str]:
    """Return the variants of differential privacy that a text names.

    Examples
    --------
    >>> variants_in("Zero-concentrated DP")
    ['zcdp']
    """
    return keys_in(text, _VARIANTS)


def mechanisms_in(text: str) -> list[str]:
    """Return the mechanisms that a text names, without those that it says were not used.

    Examples
    --------
    >>> mechanisms_in("Laplace, Gumbel")
    ['laplace', 'gumbel']
    >>> mechanisms_in("the geometric mechanism was chosen over the Gaussian mechanism")
    ['geometric']
    """
    found = []
    for key, pattern in _MECHANISMS.items():
        hits = re.finditer(pattern, text, re.IGNORECASE | re.MULTILINE)
        if any(not _NO_NOISE.search(text[max(0, hit.start() - 40) : hit.start()]) for hit in hits):
            found.append(key)
    return _without_wider(found, text)


def _without_wider(found: list[str], text: str) -> list[str]:
    """Drop "gaussian" or "laplace" where all that is said is the discrete kind of it."""
    rest = re.sub(r"discrete[- ](?:gaussian|laplace)", " ", text, flags=re.IGNORECASE)
    return [
        key
        for key in found
        if key not in ("gaussian", "laplace")
        or re.search(_MECHANISMS[key], rest, re.IGNORECASE | re.MULTILINE)
    ]


def periods_in(text: str) -> list[str]:
    """Return the periods of time that a text names.

    Examples
    --------
    >>> periods_in("User-quarter-day-level"), periods_in("Monthly")
    (['quarter-day'], ['month'])
    """
    return keys_in(text.replace("_", "-"), _PERIODS)


def entities_in(text: str) -> list[str]:
    """Return whose data a text says is protected."""
    return keys_in(text.replace("_", "-"), _ENTITIES)


def is_whole(entities: Iterable[str]) -> bool:
    """Return whether a unit is all that somebody contributes."""
    return bool(_WHOLE.intersection(entities))


def relations_in(text: str) -> list[str]:
    """Return the neighbour relations that a text names.

    Examples
    --------
    >>> relations_in("by the addition or deletion of a single user")
    ['add-remove']
    >>> relations_in("by changing (but not adding or removing) a single tuple")
    []
    """
    plain = re.sub(r"\bnot add(?:ing)?\W+\w+\W+remov\w+", " ", text, flags=re.IGNORECASE)
    return keys_in(plain, _RELATIONS)


def metrics_in(text: str) -> list[str]:
    """Return the distances between datasets that a text names."""
    return keys_in(text, _METRICS)


def models_in(text: str) -> list[str]:
    """Return the models of deployment that a text names."""
    return keys_in(text, _MODELS)


def composition_in(text: str) -> list[str]:
    """Return the kinds of composition that a text names."""
    return keys_in(text, _COMPOSITION)


def remarks_in(text: str) -> list[str]:
    """Return the keys of further remarks in a text on which a guarantee may rest."""
    return keys_in(text, _REMARKS)


_ADVERB = re.compile(
    r"\b(?:hourly|daily|weekly|monthly|quarterly|yearly|annual(?:ly)?)\b|"
    r"\b(?:publish\w*|releas\w*|refresh\w*|updat\w*|reset\w*|generat\w*|collect\w*)\W+"
    r"(?:\w+\W+){0,4}?(?:every|each|per|once an?)\W+"
    r"(?:\w+\W+)?(?:hour|day|week|month|quarter|year)s?\b",
    re.IGNORECASE,
)


def refresh_in(text: str) -> list[str]:
    """Return how often a text says that there is a release.

    Examples
    --------
    >>> refresh_in("6 hours"), refresh_in("of 18 months of data, once"), refresh_in("Daily.")
    (['quarter-day'], [], ['day'])
    """
    # A few words are the period itself. In a sentence a period may be of the data, so that only one
    # beside a verb of releasing counts.
    if len(text.split()) <= 4:
        said = text
    else:
        said = " ".join(hit.group() for hit in _ADVERB.finditer(text))
    found = periods_in(said)
    # "6 hours" has the word of an hour too.
    return [one for one in found if not (one == "hour" and "quarter-day" in found)]
