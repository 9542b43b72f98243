"""An account of releases: every accountant's answer, the paper's number, and what is proved.

The releases are given by name with their parameters, as a TOML file of them, or as an event.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpaudit._validate as check
import dpaudit.extension.registry as registry
from dpaudit.accounting.accountants import AccountantAnswer, ask_all, select_strongest_answer
from dpaudit.accounting.events import Event, Sequence, get_releases, repeat_event
from dpaudit.accounting.proved import proved_guarantee
from dpaudit.accounting.samples import (
    SAMPLES,
    JointEvent,
    Way,
    if_shared,
    join_ways,
    make_parallel_readings,
    ways_of,
)
from dpaudit.accounting.sharing import count_sampled_releases, get_alternatives
from dpaudit.accounts.sharing import (
    SHARING,
    compute_event_totals,
    convert_event_to_cards,
    find_sharing,
    is_attained,
    of_own_samples,
    read_release,
    samples_of,
    tables_of,
    ways_of_part,
)
from dpaudit.errors import ConvergenceError, InvalidArgument, VerbatimText
from dpaudit.extension.parameters import parse_parameters
from dpaudit.extension.release import FormulaGuarantee, ReleaseCard
from dpaudit.formats import add_schema
from dpaudit.plots import Grid
from dpaudit.toml import read_document


@dataclass(frozen=True)
class AccountPart:
    """One release and its parameters, checked."""

    card: ReleaseCard
    parameters: Any

    @classmethod
    def of(cls, card: ReleaseCard, given: Mapping[str, Any]) -> AccountPart:
        """Return the card's release with these parameters, or raise `InvalidArgument`."""
        return cls(card, parse_parameters(card.parameters, given))

    @property
    def event(self) -> Event:
        """The event of the whole run."""
        return self.card.event(self.parameters)

    @property
    def relation(self) -> str:
        """The neighbour relation."""
        by_parameters = self.card.neighbours
        return self.card.relation if by_parameters is None else by_parameters(self.parameters)

    @property
    def is_attained(self) -> bool:
        """Whether some neighbours lose as much as the event says."""
        return is_attained(self.card, self.parameters)

    @property
    def count(self) -> str | None:
        """The parameter that says how often it is released, or None."""
        by_parameters = self.card.counted
        return self.card.count if by_parameters is None else by_parameters(self.parameters)

    def having(self, **changes: Any) -> AccountPart:
        """Return the same release with other parameters, checked."""
        return AccountPart.of(self.card, self.parameters.model_dump() | changes)

    def published(self, delta: float) -> FormulaGuarantee | None:
        """Return what the paper's own formula says, if there is one."""
        formula = self.card.published
        return None if formula is None else formula(self.parameters, delta)


@dataclass(frozen=True)
class AccountTarget:
    """Releases one after the other.

    Parameters
    ----------
    name
        For titles and file names.
    parts
        At least one.
    samples
        ``independent`` where it is said that every release draws a sample of its own.
    written
        The releases of an event as they were written, of which parts hold equal ones together.
    """

    name: str
    parts: tuple[AccountPart, ...]
    samples: str | None = None
    written: tuple[Way, ...] = ()

    @classmethod
    def of(cls, event: Event, samples: str | None = None) -> AccountTarget:
        """Return an event's releases, each as one of the kinds that have a name.

        Raises
        ------
        InvalidArgument, UnsupportedEvent
            Nothing is released, the relations differ, or a part is not an event.
        """
        parts = tuple(AccountPart.of(*named) for named in convert_event_to_cards(event))
        target = cls(parts[0].card.name if len(parts) == 1 else "event", parts, samples)
        return replace(target._require_releases("event"), written=ways_of(event))

    def _require_releases(self, source: str) -> AccountTarget:
        """Return releases of which there is at least one, about one neighbour relation."""
        parts = self.parts
        ways = (way for part in parts for way in get_alternatives(part.event))
        if not any(get_releases(way) for way in ways):
            raise InvalidArgument(source, VerbatimText("no release"), "a count above 0")
        # A guarantee about one relation and one about another do not add up to any.
        relations = sorted({part.relation for part in parts} - {"any"})
        if len(relations) > 1:
            raise InvalidArgument(source, relations, "releases about one neighbour relation")
        # Asked for its refusal alone, of events with too many combinations of groups.
        get_alternatives(self.own)
        return self

    @property
    def own(self) -> Event:
        """All of it, if every release draws a sample of its own."""
        if len(self.parts) == 1:
            return self.parts[0].event
        # Repeated once, equal releases of several parts are counted together, as if they had been
        # written so.
        return repeat_event(Sequence(tuple(part.event for part in self.parts)), 1)

    @property
    def if_shared(self) -> JointEvent | None:
        """What it is if releases of one sampler are of one sample; None where that is no doubt."""
        if self.samples is not None:
            return None
        parts = (ways_of_part(part.card, part.parameters, part.event) for part in self.parts)
        return if_shared(self.written or join_ways(parts))

    @property
    def event(self) -> Event:
        """All of it, the worse of two readings where it is not said what releases share."""
        shared = self.if_shared
        return self.own if shared is None else make_parallel_readings(shared.event, self.own)

    @property
    def relation(self) -> str:
        """The neighbour relation of every part."""
        named = {part.relation for part in self.parts} - {"any"}
        return named.pop() if named else "any"

    @property
    def length(self) -> int:
        """How often the release is made, or 1 for a sequence."""
        count = self.parts[0].count
        # Where releases may share a sample, a longer run is another question: which of its releases
        # would.
        if len(self.parts) > 1 or count is None or self.if_shared is not None:
            return 1
        return int(getattr(self.parts[0].parameters, count))

    def at(self, length: int) -> Event:
        """Return the event of another length: that many releases, or repetitions of a sequence."""
        first = self.parts[0]
        if len(self.parts) == 1 and first.count is not None and self.if_shared is None:
            return first.having(**{first.count: length}).event
        return repeat_event(self.event, length)

    def grids(self, delta: float) -> list[Grid]:
        """Return who learns how much about whom, of the parts that can say so."""
        return [
            part.card.grid(part.parameters, delta)
            for part in self.parts
            if part.card.grid is not None
        ]

    @property
    def words(self) -> tuple[str, ...]:
        """What the guarantee is about, of every part that says so."""
        cards = [(part.card.words, part.parameters) for part in self.parts]
        said = [words(parameters) for words, parameters in cards if words is not None]
        alone = sum(
            count_sampled_releases(p.event) for p in self.parts if p.card.name not in SHARING
        )
        if self.if_shared is not None:
            return (*said, _UNKNOWN)
        return (*said, *([_OWN_SAMPLES] if alone > 1 else []))

    @property
    def shared(self) -> tuple[dict[str, Any], ...]:
        """What was taken for shared, of every part that is several releases, or draws samples."""
        known = self.if_shared is None
        return tuple(
            one for p in self.parts for one in find_sharing(p.card.name, p.event, known=known)
        )

    def remarks(self, delta: float) -> tuple[str, ...]:
        """Return what is said beside the answer, of every part that says something."""
        said = [(part.card.remarks, part.parameters) for part in self.parts]
        return tuple(
            line
            for remarks, parameters in said
            if remarks is not None
            for line in remarks(parameters, delta)
        )

    def compute_formula_at(self, length: int, delta: float) -> FormulaGuarantee | None:
        """Return what the paper's formula says at another length."""
        first = self.parts[0]
        if len(self.parts) > 1 or first.count is None or self.if_shared is not None:
            return None
        return first.having(**{first.count: length}).published(delta)


def read_target(word: str, changes: Mapping[str, Any]) -> AccountTarget:
    """Return what a name or a TOML file describes.

    Parameters
    ----------
    word
        A registered release, or the path of a file with ``[[release]]`` tables, each with a
        ``kind`` and its parameters; with ``[[round]]`` tables of releases of one sample,
        ``[[budget]]`` tables of releases that share a bound on contributions, or ``[[group]]``
        tables about disjoint parts of the data, each with such tables in it. The line ``samples =
        "independent"`` says that releases of one sampler draw a sample each.
    changes
        Parameters given besides; only for a single release.

    Raises
    ------
    UnknownName, InvalidArgument, DataError
        The name, a parameter or the file is not as expected.
    """
    if not word.endswith(".toml"):
        return AccountTarget(word, (AccountPart.of(registry.RELEASES.get(word), changes),))
    document = read_document(Path(word))
    tables = tables_of(document, word)
    if len(tables) > 1 and changes:
        given = VerbatimText(", ".join(changes))
        raise InvalidArgument("--set", given, "nothing: the file has several releases")
    parts = tuple(AccountPart.of(*read_release(table | dict(changes), word)) for table in tables)
    return AccountTarget(Path(word).stem, parts, samples_of(document, word))._require_releases(word)


_OWN_SAMPLES = (
    "Shared: nothing. Each release is taken to draw a sample of its own; releases of one sample "
    "lose more, and belong into one [[round]]."
)
_UNKNOWN = (
    "Shared: unknown. Nothing says whether releases of one sampler are of one sample a round, "
    'or each of its own, so this is the worse of both. samples = "independent" says that each '
    "draws its own, and a [[round]] that its releases share one."
)
_DIGITS = 8  # of a number in a sentence
PRIORS = (0.5, 0.1, 0.01)


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """The strongest proved guarantee in words a reader understands.

    Parameters
    ----------
    advantage
        Largest true-positive less false-positive rate of any attack.
    success
        Prior probability of one of two neighbours, and the best chance to guess right.
    group
        A number of steps of the relation between two datasets, and epsilon for them, or None.
    """

    advantage: float
    success: tuple[tuple[float, float], ...]
    group: tuple[int, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Account:
    """Everything about one target at one delta.

    Parameters
    ----------
    name, title, relation, parameters
        What was accounted for.
    delta
        At which epsilon was asked.
    answers
        Of every accountant.
    proved
        The answer with the least upper end, or None.
    published
        The paper's own number, or None.
    meaning
        Of the strongest guarantee.
    words
        What the guarantee is about, of every part that says so.
    remarks
        What is said beside the answer: other readings, and what would change it.
    shared
        What was taken for shared by which releases: ``of``, the kind; ``shared``, which is
        ``nothing``, ``one sample``, ``one budget``, ``disjoint data`` or, of releases that may be
        of one sample, ``unknown``: all numbers are then the worse of both; and how many
        ``releases``.
    own_samples
        Where that is unknown, the epsilon that is proved if every release draws a sample of its
        own; None otherwise.
    total
        ``mu`` of Gaussian releases and ``rho`` of zero-concentrated DP, rounded up; None where
        there is none.
    """

    name: str
    title: str
    relation: str
    parameters: tuple[dict[str, Any], ...]
    delta: float
    answers: tuple[AccountantAnswer, ...]
    proved: AccountantAnswer | None
    published: FormulaGuarantee | None
    meaning: Meaning
    words: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    shared: tuple[dict[str, Any], ...] = ()
    own_samples: float | None = None
    total: dict[str, float | None] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        from dpaudit.accounts.shown import as_html

        return as_html(self)

    def figure(
        self, path: str | os.PathLike[str] | None = None, *, width: float | None = None
    ) -> NDArray[np.object_]:
        """Return matplotlib axes with every accountant's answer; write a file where asked.

        Parameters
        ----------
        path
            A file to write, which ends in ``.pdf``, ``.svg`` or ``.png``.
        width
            Of the figure in inches, say 3.3 for one column of two.

        Returns
        -------
        numpy.ndarray
            Axes, shape ``(1,)``. The figure is ``axes[0].figure``.

        Raises
        ------
        InvalidArgument
            The file ends otherwise, or the width is below 2 inches.
        DataError
            The file cannot be written.
        """
        from dpaudit.accounts.shown import draw_account

        return draw_account(self, path, width=width)

    def to_latex(self) -> str:
        r"""Return the release, the smallest proved epsilon at delta, and who proves it: a row."""
        from dpaudit.accounts.shown import row_of_account

        return row_of_account(self)

    def document(self) -> dict[str, Any]:
        """Return all of it as JSON takes it; times are left out, infinities are text."""
        return add_schema("account", _to_plain_account(asdict(self)))


def _to_plain_account(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _to_plain_account(item) for name, item in value.items() if name != "seconds"}
    if isinstance(value, list | tuple):
        return [_to_plain_account(item) for item in value]
    # JSON has no infinity.
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def account(
    release: str | Event,
    delta: float = 1e-5,
    *,
    group: int | None = None,
    samples: str | None = None,
    **parameters: Any,
) -> Account:
    """Return every accountant's answer about a release, and what the best of them means.

    Parameters
    ----------
    release
        The name of an installed release (``dpaudit list`` shows them), the path of a TOML file of
        releases, or an event.
    delta
        The delta in [0, 1) at which epsilon is asked.
    group
        Also for datasets this many steps of the neighbour relation apart.
    samples
        ``independent`` says that every release draws a sample of its own. If nothing says so,
        releases of one sampler that are written one by one may be of one sample, and all numbers
        are the worse of both.
    parameters
        Public parameters of a release by name. One that is called as an argument here, such as
        the delta of ``approximate``, is given in an event.

    Raises
    ------
    UnknownName, InvalidArgument, DataError
        The name, a parameter or the file is not as expected.
    UnsupportedEvent
        No theorem covers the event.

    Examples
    --------
    >>> answer = account("gaussian", delta=1e-5, noise_scale=5.0, count=25)
    >>> answer.proved.accountant, round(answer.proved.upper, 4)
    ('Gaussian DP', 4.3772)
    >>> from dpaudit.accounting.events import LaplaceRelease
    >>> event = LaplaceRelease(sensitivity=0.1, noise_scale=1.0, count=100)
    >>> round(account(event, 1e-5).proved.upper, 4)
    4.2203
    """
    check.require_delta("delta", delta)
    if samples is not None:
        check.require_choice("samples", samples, SAMPLES)
    if group is not None:
        check.require_integer("group", group, least=1)
    if isinstance(release, str):
        target = read_target(release, parameters)
        said = target.samples if samples is None else samples
        return account_for(replace(target, samples=said), delta, group)
    if parameters:
        given = VerbatimText(", ".join(parameters))
        raise InvalidArgument("parameters", given, "none: the event has its own")
    return account_for(AccountTarget.of(release, samples), delta, group)


def account_for(target: AccountTarget, delta: float, group: int | None = None) -> Account:
    """Return the account of a target at ``delta`` in [0, 1), if asked also for a group."""
    event, shared = target.event, target.if_shared
    answers = ask_all(event, delta)
    exact = shared is None or shared.exact
    # A lower end of an event that is worse than what is released would claim that somebody loses
    # what nobody does.
    if not exact or not all(part.is_attained for part in target.parts):
        answers = tuple(_upper_end(one) for one in answers)
    _require_consistent_answers(answers)
    guarantee = proved_guarantee(event)
    single = target.parts[0] if len(target.parts) == 1 else None
    own = None if shared is None else proved_guarantee(target.own).epsilon(delta)
    return Account(
        name=target.name,
        title=single.card.title if single else f"a sequence of {len(target.parts)} releases",
        relation=target.relation,
        parameters=tuple(
            {"kind": part.card.name} | part.parameters.model_dump() for part in target.parts
        ),
        delta=delta,
        answers=answers,
        proved=select_strongest_answer(answers),
        # A paper's formula is about one reading, and must not stand beside an answer about two.
        published=single.published(delta) if single and shared is None else None,
        meaning=Meaning(
            advantage=guarantee.advantage(),
            success=tuple((prior, guarantee.success(prior)) for prior in PRIORS),
            group=None if group is None else (group, guarantee.group(group).epsilon(delta)),
        ),
        words=target.words,
        remarks=(*of_own_samples(own, _DIGITS), *target.remarks(delta)),
        shared=target.shared,
        own_samples=own,
        total=compute_event_totals(event),
    )


def _upper_end(answer: AccountantAnswer) -> AccountantAnswer:
    """Return an answer about an event that is worse than what is released: nothing from below."""
    kind = answer.kind if answer.kind == "estimate" else "upper bound"
    return replace(answer, kind=kind, lower=None)


def _require_consistent_answers(answers: tuple[AccountantAnswer, ...]) -> None:
    """Raise `ConvergenceError` if a proved upper end is below a certified lower end."""
    best = select_strongest_answer(answers)
    for answer in answers:
        if answer.lower is None or best is None or best.upper is None:
            continue
        # Both ends are certified: crossing by more than rounding means that some accountant is
        # wrong, and no answer may be shown.
        if answer.lower > best.upper * (1 + 1e-9):
            raise ConvergenceError(
                f"accountants contradict each other: {best.accountant} proves {best.upper}, "
                f"{answer.accountant} certifies at least {answer.lower}; please report this"
            )
