"""A budget: made once, charged before each release, by any number of people and machines."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from typing import Any

import dpaudit._check as check
from dpaudit.accounting.events import Event
from dpaudit.accounts.target import AccountTarget
from dpaudit.errors import (
    BudgetExceeded,
    DataError,
    InvalidArgument,
    UnsupportedEvent,
    VerbatimText,
)
from dpaudit.escaping import one_line
from dpaudit.neighbours import RELATIONS
from dpaudit.spending.chain import (
    BrokenChain,
    Chain,
    ChainEntry,
    Header,
    ReleaseGuarantee,
    Torn,
    write_line,
)
from dpaudit.spending.charges import (
    check_relation,
    price_of,
    state_at,
    tables_of,
    target_of,
)
from dpaudit.spending.document import SpendDocument, document_of
from dpaudit.spending.file import HeldFile, create_file, hold_file
from dpaudit.spending.filters import fix_terms
from dpaudit.spending.judging import Charge, judge_charge, why_not
from dpaudit.spending.requirements import (
    check_partition,
    check_stated_epsilon,
    require_known_groups,
    require_some_words,
)

_SHORT = {"add-remove": "add-remove-record", "replace": "replace-record"} | {
    "zero-out": "zero-out-record"
}
_LEAST_DIGITS = 8  # of a digest: fewer are many lines', none is every line's
WAIT = 60.0  # seconds for others who write


@dataclass(frozen=True)
class _Block:
    """The file that a thread holds for the whole of a block, and the call that ends that."""

    stack: contextlib.ExitStack
    file: HeldFile


class Budget:
    """A file that keeps the spending of one dataset's releases, and refuses any beyond its limit.

    Every method reads the file, under a lock, and first checks its lines. `charge` comes before the
    release: whoever is interrupted in between has spent, and has released nothing. As a context
    manager it holds the lock for the whole block, so that nobody comes between: no other process,
    and no other thread that has the same object.

    Parameters
    ----------
    path
        A file that `Budget.create` or ``dpaudit spend new`` made.
    wait
        The seconds to wait for others who hold its lock.

    Raises
    ------
    InvalidArgument
        The time to wait is below 0. All methods raise `DataError` if the file is not there, cannot
        be read, or if a line was changed or is missing.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "budget.jsonl"
    >>> budget = Budget.create(path, epsilon=1.0, delta=1e-6, by="anna")
    >>> charge = budget.charge("gaussian", sigma=20, sensitivity=1, about="weekly counts")
    >>> charge.entry.number, charge.fits, charge.more.count
    (1, True, 18)
    >>> budget.check("laplace", sensitivity=1, noise_scale=0.5).fits
    False
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, wait: float = WAIT) -> None:
        self.path = Path(path)
        self._wait = check.non_negative("wait", wait)
        self._blocks: dict[tuple[int, int], _Block] = {}  # each thread's own
        self._known: tuple[str, int, str] | None = None  # id, and number and digest of a line

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        rho: float | None = None,
        mu: float | None = None,
        curve: Sequence[tuple[float, float]] = (),
        filter: str = "any",
        own_delta: float | None = None,
        orders: Sequence[float] | None = None,
        unit: str = "a person",
        relation: str = "add-remove",
        period: str | None = None,
        partition: str | None = None,
        by: str | None = None,
        wait: float = WAIT,
    ) -> Budget:
        """Make the file of a new budget, and fix all that has to be fixed before any release.

        Parameters
        ----------
        path
            The path of the new file, where nothing is yet.
        epsilon, delta
            The budget; without a delta it is one of pure DP.
        rho, mu, curve
            A budget of zero-concentrated DP, of Gaussian DP, or several epsilons with their deltas
            that hold together, in place of an epsilon.
        filter
            The way to add up spending (`dpaudit.spending.filters`): ``any`` of all ways;
            ``basic``, ``gaussian``, ``zcdp`` or ``renyi``, which has all of delta; or ``planned``,
            by the accountants, if no parameter of a release depends on an earlier output.
        own_delta
            The part of delta for releases with a delta of their own.
        orders
            The orders of Renyi divergences, in place of those that suit the budget.
        unit, relation
            The unit of privacy, in words, and the relation between neighbours.
        period, partition
            The data that the budget is about, in words, and the groups of which a record is in one.
        by
            The name of the person who makes the file.
        wait
            The seconds to wait for the file, as for the class.

        Raises
        ------
        InvalidArgument
            A number is out of its domain, or there is no limit, or several.
        DataError
            The file exists already, or cannot be written.
        """
        points = [*curve, *([] if epsilon is None else [(epsilon, delta)])]
        if curve and epsilon is not None:
            raise InvalidArgument(
                "curve", VerbatimText("a curve"), "one limit: an epsilon or a curve"
            )
        terms = fix_terms(
            points,
            rho=rho,
            mu=mu,
            delta=delta,
            filter_name=filter,
            own_delta=own_delta,
            orders=orders,
        )
        named = check.require_choice(
            "relation", _SHORT.get(relation, relation), _list_budget_relations()
        )
        check_partition(partition, named)
        header = Header(
            id=token_hex(8),
            terms=terms,
            unit=require_some_words("unit", unit),
            relation=named,
            period=period,
            partition=partition,
            charged_at=_format_utc_now(),
            by=by,
        )
        create_file(Path(path), write_line(header, ""))
        return cls(path, wait=wait)

    def __enter__(self) -> Budget:
        # The lock belongs to an open file: a second block of this thread would wait for its own.
        if _this_thread() in self._blocks:
            raise DataError(f"{one_line(str(self.path))}: is held by this block already")
        stack = contextlib.ExitStack()
        file = stack.enter_context(hold_file(self.path, to_write=True, wait=self._wait))
        self._blocks[_this_thread()] = _Block(stack, file)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        block = self._blocks.pop(_this_thread(), None)
        if block is not None:
            block.stack.close()

    @contextlib.contextmanager
    def _held(self, *, to_write: bool) -> Iterator[tuple[HeldFile, Chain]]:
        block = self._blocks.get(_this_thread())
        if block is not None:
            # Within a block the lock is on a file that somebody may have replaced meanwhile.
            block.file.check_in_place()
            yield block.file, self._checked(block.file.read())
            return
        with hold_file(self.path, to_write=to_write, wait=self._wait) as file:
            yield file, self._checked(file.read())

    def _checked(self, chain: Chain) -> Chain:
        """Return a chain that has the line that was last seen, or raise `DataError`."""
        if self._known is not None:
            own, place, digest = self._known
            name = one_line(str(self.path))
            # The digests alone prove that a file is whole, and not that it is the one that was read
            # before: an older copy of it is whole as well.
            if chain.header.id != own:
                raise DataError(f"{name}: is no longer the same budget: its id is not {own}")
            if len(chain.digests) <= place or chain.digests[place] != digest:
                raise DataError(
                    f"{name}: lacks line {place + 1} as it was; bring back the file with all lines"
                )
        self._known = chain.header.id, len(chain.digests) - 1, chain.head
        return chain

    # What users ask

    def charge(
        self,
        release: str | Event,
        *,
        samples: str | None = None,
        groups: Sequence[str] = (),
        at_delta: float | None = None,
        by: str | None = None,
        about: str | None = None,
        released: bool = False,
        **parameters: Any,
    ) -> Charge:
        """Charge a release that is about to be made; when this returns, it is on the disk.

        Parameters
        ----------
        release, parameters
            The release, as `dpaudit.account` takes it: a name with parameters, a TOML file or an
            event.
        samples
            ``independent`` says that each release draws a secret sample of its own.
        groups
            The groups whose data alone the release uses. An empty sequence means all groups.
        at_delta
            Charge what the accountants prove at this delta in place of the release itself.
        by, about
            The person who releases, and a description; free text that everybody reads.
        released
            True if the release is out already: then it is charged even if it does not fit.

        Raises
        ------
        BudgetExceeded
            The release does not fit. Nothing was charged.
        DataError
            The file cannot be written, was changed, or ends in a line that is torn.
        InvalidArgument, UnknownName, UnsupportedEvent
            The release is unknown, has other neighbours, or no theorem prices it.
        """
        target = target_of(release, samples, parameters)
        stated = state_at(target, at_delta)
        with self._held(to_write=True) as (file, chain):
            chain = self._seal(file, chain)
            entry = self._entry(chain, target, stated, groups)
            entry = entry.model_copy(update={"by": by, "about": about, "released": released})
            found = judge_charge(chain, entry)
            if not found.fits and not released:
                raise BudgetExceeded(f"{one_line(str(self.path))}: {why_not(chain, entry)}")
            return self._append(file, chain, entry, found)

    def check(
        self,
        release: str | Event,
        *,
        samples: str | None = None,
        groups: Sequence[str] = (),
        at_delta: float | None = None,
        **parameters: Any,
    ) -> Charge:
        """Return whether a release would fit, and how many more; nothing is charged.

        Parameters and errors are those of `charge`.
        """
        target = target_of(release, samples, parameters)
        stated = state_at(target, at_delta)
        with self._held(to_write=False) as (_, chain):
            return judge_charge(chain, self._entry(chain, target, stated, groups))

    def overview(self) -> SpendDocument:
        """Return all there is to say: limits, the spent part and the rest, and every line."""
        chain = self.read()
        return document_of(chain, self.path)

    def read(self) -> Chain:
        """Return the lines of the file, checked against each other."""
        with self._held(to_write=False) as (_, chain):
            return chain

    def verify(self, head: str | None = None) -> Chain:
        """Check every line, that each is charged enough, and that a known line is still there.

        Parameters
        ----------
        head
            The digest of a line, as ``dpaudit spend show`` printed it once: 8 digits or more.

        Raises
        ------
        InvalidArgument
            The digest is too short.
        BrokenChain
            A line was changed or is missing, or is charged less than what is released: a
            `DataError`, as others are that say that the file cannot be read.
        """
        if head is not None and len(head.strip()) < _LEAST_DIGITS:
            raise InvalidArgument("head", head, f"at least {_LEAST_DIGITS} digits of a digest")
        chain = self.read()
        name = one_line(str(self.path))
        for place, entry in enumerate(chain.entries, start=2):
            check_stated_epsilon(entry, f"{name}: line {place}")
        if head is not None and not any(
            one.startswith(head.strip().lower()) for one in chain.digests
        ):
            raise BrokenChain(
                f"{name}: has no line with the digest {one_line(head)}: it is another file, or "
                "lines of it are lost from its end"
            )
        return chain

    def mend(
        self,
        release: str | Event | None,
        *,
        samples: str | None = None,
        groups: Sequence[str] = (),
        by: str | None = None,
        about: str | None = None,
        **parameters: Any,
    ) -> Charge:
        """State the charge of a torn line that cannot be read; None states that it was nothing.

        Its writer was kept from finishing it and reported no success. If it released nothing, as it
        should, nothing was spent.

        Raises
        ------
        DataError
            No line is torn, or all that torn lines charge can be read.
        """
        target = None if release is None else target_of(release, samples, parameters)
        with self._held(to_write=True) as (file, chain):
            if not chain.torn.pieces or chain.torn.is_read:
                raise DataError(f"{one_line(str(self.path))}: needs no mending")
            torn, chain = chain.torn, _without_torn(chain)
            entry = (
                ChainEntry(number=_get_next_number(chain), release=(), charged_at=_format_utc_now())
                if target is None
                else self._entry(chain, target, None, groups)
            )
            said = {"torn": torn.digest, "by": by, "about": about, "released": True}
            entry = entry.model_copy(update=said)
            return self._append(file, chain, entry, judge_charge(chain, entry), b"\n")

    # Lines

    def _entry(
        self,
        chain: Chain,
        target: AccountTarget,
        stated: ReleaseGuarantee | None,
        groups: Sequence[str],
    ) -> ChainEntry:
        check_relation(target, chain.header)
        entry = ChainEntry(
            number=_get_next_number(chain),
            release=tables_of(target),
            samples=target.samples,
            stated=stated,
            groups=tuple(sorted(require_known_groups(chain, groups))),
            charged_at=_format_utc_now(),
        )
        terms = chain.header.terms
        if not terms.is_planned and not price_of(entry, terms).is_known:
            names = ", ".join(part.card.name for part in target.parts)
            raise UnsupportedEvent(
                f"release: got {names}, expected one that a theorem on adaptive composition "
                "prices; charge what the accountants prove of it at a delta of its own: at_delta "
                "(--at-delta 1e-8)"
            )
        return entry

    def _append(
        self, file: HeldFile, chain: Chain, entry: ChainEntry, found: Charge, before: bytes = b""
    ) -> Charge:
        line = write_line(entry, chain.head)
        start = b"\n" if chain.lacks_end else before
        file.append(start + line + b"\n", chain.size)
        file.check_in_place()
        # Every line ends in 64 digits, a quote and a brace.
        digest = line[-66:-2].decode()
        self._known = chain.header.id, entry.number, digest
        return replace(found, digest=digest, entry=entry)

    def _seal(self, file: HeldFile, chain: Chain) -> Chain:
        """Return the chain with a line for the torn one, which states the charge of that."""
        if not chain.torn.pieces:
            return chain
        if not chain.torn.is_read:
            raise DataError(
                f"{one_line(str(self.path))}: ends in a line that its writer was kept from "
                "finishing, and nobody can read what it charges; state what it was: dpaudit spend "
                "mend FILE gaussian sigma=4, or that it was nothing: dpaudit spend mend FILE "
                "--nothing"
            )
        torn, chain = chain.torn, _without_torn(chain)
        said = {
            "number": _get_next_number(chain),
            "charged_at": _format_utc_now(),
            "about": "a torn line, whose writer reported no success",
            "released": True,
            "torn": torn.digest,
        }
        entry = torn.entries[0].model_copy(update=said)
        self._append(file, chain, entry, judge_charge(chain, entry), b"\n")
        # Read once more: digests and size are those with the line that was just appended.
        return self._checked(file.read())


def _this_thread() -> tuple[int, int]:
    """Return the process and its thread: a child of a fork has none of its parent's blocks."""
    return os.getpid(), threading.get_ident()


def _without_torn(chain: Chain) -> Chain:
    return Chain(chain.header, chain.entries, chain.digests, Torn(), chain.lacks_end, chain.size)


def _get_next_number(chain: Chain) -> int:
    return len(chain.entries) + 1


def _list_budget_relations() -> tuple[str, ...]:
    return tuple(dict.fromkeys([*RELATIONS, "zero-out-record"]))


def _format_utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
