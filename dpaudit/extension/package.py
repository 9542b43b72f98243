"""A package whose mechanisms a scan audits: the code that runs, its data, and its claims.

A card is light: listing packages imports it, and nothing of the package it is about. What runs is a
module of plain functions that imports the standard library, numpy and the audited package alone, so
that it runs in an environment where dpaudit is not installed; the source of such a function becomes
the reproduction of a finding (docs/scan.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpaudit.errors import InvalidArgument, VerbatimText

if TYPE_CHECKING:
    from dpaudit.guarantees.guarantee import Guarantee

Parameters = Mapping[str, Any]
Number = float | str | Callable[[Parameters], float]
Datasets = tuple[Any, ...] | Callable[[Parameters], tuple[Any, ...]]
# The relations for which neighbours of any dataset can be made by an edit.
RELATIONS = ("replace-record", "add-remove-record")
_NUMBER = "a number, the name of a parameter, or a function of the parameters"


def number_of(name: str, given: Number, parameters: Parameters) -> float:
    """Return a number that may follow a setting: itself, a parameter's, or a function's.

    Raises
    ------
    InvalidArgument
        It is none, or no parameter has its name.

    Examples
    --------
    >>> number_of("epsilon", "epsilon", {"epsilon": 2.0})
    2.0
    >>> number_of("epsilon", lambda given: 3 * given["epsilon"], {"epsilon": 2.0})
    6.0
    """
    import dpaudit._check as check  # with numpy, which a list does without

    if isinstance(given, str):
        if given not in parameters:
            raise InvalidArgument(name, given, f"one of the parameters {sorted(parameters)}")
        given = parameters[given]
    found: Any = given(parameters) if callable(given) else given
    return check.require_real(name, found, _NUMBER)


def _require_relation(given: str) -> None:
    if given not in RELATIONS:
        raise InvalidArgument("relation", given, f"one of: {', '.join(RELATIONS)}")


@dataclass(frozen=True, kw_only=True)
class PackageClaim:
    """A guarantee that the documentation of a package gives.

    Each number may be the name of a parameter or a function of the parameters, so that the claim
    follows the setting. One currency is claimed: ``epsilon`` (with ``delta``), ``rho``, ``mu``, or
    ``epsilon`` at a Renyi ``order``.

    Parameters
    ----------
    where
        Where the documentation says so: a paraphrase, and the place.
    relation
        The neighbour relation that it claims; None where the documentation does not say. What is
        refuted under a relation that nobody claims is shown, and is no violation.
    epsilon, delta, rho, mu, order
        The numbers.

    Examples
    --------
    >>> claim = PackageClaim(epsilon="epsilon", where="docstring of mean: satisfies epsilon-DP")
    >>> claim.guarantee({"epsilon": 0.5})
    PureDP(at_epsilon=0.5)
    """

    where: str
    relation: str | None = None
    epsilon: Number | None = None
    delta: Number = 0.0
    rho: Number | None = None
    mu: Number | None = None
    order: Number | None = None

    def __post_init__(self) -> None:
        named = [name for name in ("epsilon", "rho", "mu") if getattr(self, name) is not None]
        # With two numbers it would be open which of them is refuted.
        if len(named) != 1:
            given = VerbatimText(", ".join(named) or "no number")
            raise InvalidArgument("claim", given, "one of epsilon, rho and mu")
        if self.relation is not None:
            _require_relation(self.relation)
        if not self.where:
            raise InvalidArgument("where", self.where, "where the documentation claims it")

    def guarantee(self, parameters: Parameters) -> Guarantee:
        """Return the claim for a setting.

        Raises
        ------
        InvalidArgument
            A number is outside its domain, or names no parameter.
        """
        from dpaudit.guarantees import kinds  # what computes, which a list does without

        if self.rho is not None:
            return kinds.ZeroConcentratedDP(number_of("rho", self.rho, parameters))
        if self.mu is not None:
            return kinds.GaussianDP(number_of("mu", self.mu, parameters))
        assert self.epsilon is not None
        epsilon = number_of("epsilon", self.epsilon, parameters)
        if self.order is not None:
            return kinds.RenyiDP(number_of("order", self.order, parameters), epsilon)
        delta = number_of("delta", self.delta, parameters)
        # At delta 0, pure differential privacy says more, and has its own accountant.
        return kinds.ApproximateDP(epsilon, delta) if delta else kinds.PureDP(epsilon)


@dataclass(frozen=True, kw_only=True)
class MadePair:
    """Two neighbouring datasets that a card makes itself, where no edit of records does.

    Parameters
    ----------
    dataset, neighbour
        Plain values or arrays.
    relation
        The relation of the two datasets; the scan checks it where dpaudit knows how.
    edit
        How the neighbour came from the dataset, in words.
    """

    dataset: Any
    neighbour: Any
    relation: str
    edit: str = "a pair of the card"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Something of a package that is audited: a mechanism, a query, a model.

    Parameters
    ----------
    name
        What a report calls it, such as ``tools.mean``.
    code
        The function of the plain module: ``code(data, **parameters)`` returns all that is
        published. It may ask for ``rng``, a numpy Generator, and for ``trials``: then one call
        returns a list of so many outputs.
    claims
        What the documentation claims of it.
    parameters
        The settings that are tried, each of plain values: sensible ones and their corners.
    datasets
        Datasets of which neighbours are made: plain values or arrays, or a function of a setting.
        Lists of numbers, texts, tuples or dicts, arrays, and features with labels.
    bounds
        Between which the pair maker may make new numbers: ``(low, high)``, that by column, the name
        of a parameter, or a function of a setting; None stays within the data.
    relations
        Under which neighbours are made.
    nan
        Whether a record may lack a number; False where the documentation forbids it.
    domain
        Whether the documentation allows a dataset at a setting, such as one whose labels are among
        the public classes; None for any. No pair has one that is not allowed.
    pairs
        Pairs that are tried beside those that are made: a tuple, or a function of a setting.
    additive
        Whether an output is a value plus noise: then it is looked at as floating-point numbers too.
    trials
        Certifying outputs on each dataset, where the subject is slow; None for the scan's own.
    about
        A sentence for the report: what it is, and what is published.
    """

    name: str
    code: str
    claims: tuple[PackageClaim, ...]
    parameters: tuple[Parameters, ...] = ({},)
    datasets: Datasets = ()
    bounds: Any = None
    relations: tuple[str, ...] = RELATIONS
    nan: bool = True
    domain: Callable[[Any, Parameters], bool] | None = None
    pairs: tuple[MadePair, ...] | Callable[[Parameters], tuple[MadePair, ...]] = ()
    additive: bool = False
    trials: int | None = None
    about: str = ""

    def __post_init__(self) -> None:
        for one in self.relations:
            _require_relation(one)
        if not self.claims:
            raise InvalidArgument(f"claims of {self.name}", (), "at least one")
        if not self.parameters:
            raise InvalidArgument(f"parameters of {self.name}", (), "at least one setting: {}")

    def datasets_of(self, parameters: Parameters) -> tuple[Any, ...]:
        """Return the datasets that belong to a setting."""
        return tuple(self.datasets(parameters)) if callable(self.datasets) else self.datasets

    def pairs_of(self, parameters: Parameters) -> tuple[MadePair, ...]:
        """Return the pairs that the card makes for a setting."""
        return tuple(self.pairs(parameters)) if callable(self.pairs) else self.pairs

    def allows(self, dataset: Any, parameters: Parameters) -> bool:
        """Return whether a dataset is one that the documentation allows at a setting."""
        return self.domain is None or bool(self.domain(dataset, parameters))

    def bounds_of(self, parameters: Parameters) -> Any:
        """Return between which new numbers are made for a setting, None for within the data."""
        if isinstance(self.bounds, str):
            return parameters.get(self.bounds)
        return self.bounds(parameters) if callable(self.bounds) else self.bounds


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package that can be scanned.

    Parameters
    ----------
    name
        That of the entry point, and of ``dpaudit scan NAME``.
    distribution
        What pip installs.
    code
        The module of plain functions, by its full name; it is found and not imported by dpaudit.
    subjects
        What is audited.
    versions
        Released versions that are scanned, the default one first.
    requirements
        Pins beside the distribution, for an environment of its own.
    requirements_of
        Of single versions, what replaces ``requirements``.
    bare
        Whether the distribution is installed without what it depends on, as where old pins have no
        wheels any more: then ``requirements`` name all that the subjects need.
    home
        Where it lives.
    python
        Which versions of Python it needs, as a specifier such as ``<3.12``; empty for any.

    Examples
    --------
    >>> claim = PackageClaim(epsilon=1.0, where="docstring")
    >>> subject = Subject(name="sum", code="noisy_sum", claims=(claim,), datasets=([0.0, 1.0],))
    >>> package = Package(
    ...     name="my-own", distribution="my-own", code="my_own.subjects",
    ...     versions=("1.0",), subjects=(subject,),
    ... )
    >>> package.pins("1.0")
    ('my-own==1.0',)
    """

    name: str
    distribution: str
    code: str
    subjects: tuple[Subject, ...] = field(repr=False)
    versions: tuple[str, ...]
    requirements: tuple[str, ...] = ()
    requirements_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bare: bool = False
    home: str = ""
    python: str = ""

    def __post_init__(self) -> None:
        names = [one.name for one in self.subjects]
        # Results of a scan are stored by the name of the subject.
        if twice := sorted({one for one in names if names.count(one) > 1}):
            raise InvalidArgument(f"subjects of {self.name}", twice, "names that differ")
        if not self.versions:
            raise InvalidArgument(f"versions of {self.name}", (), "at least one released version")

    def pins(self, version: str) -> tuple[str, ...]:
        """Return the requirements of an environment for a version."""
        # Older versions need older pins, and those of another version may not even install.
        beside = self.requirements_of.get(version, self.requirements)
        return (f"{self.distribution}=={version}", *beside)
