r"""Inputs that are functions of an observer's view: an exact mu holds for these adaptive inputs.

Inputs ``g_1, g_2, ...`` are made one after the other (`dpaudit.affine.inputs`), each by a function
of its arguments ``a_t``, which are affine in earlier inputs, in data and in noise. An observer sees
``v = L g + W n + c``. On neighbours, the functions differ in the rounds of a record, and at equal
arguments by vectors ``D_t`` of bounded norm; all other inputs are the same functions.

**Theorem.** Say that every ``a_t`` is a function of ``v``: of those ``y'v`` in which neither
``g_t`` nor a later input is. Then v is mu-GDP, with the mu of inputs that are fixed,

    mu^2 = max || W^+ L D ||^2      over all D of bounded norm in the rounds of one record,

if every such ``L D`` is in the range of W. (Denisov, McMahan, Rush, Smith & Thakurta 2022,
Theorem 2.1, for a lower triangular L and a W with an inverse.) It is attained by inputs that depend
on nothing, so that it is the largest over all adaptive inputs, exactly.

*Proof.* Let ``Y_t`` be the y with ``y'L = 0`` on ``g_t`` and all later inputs. They grow with t.
Take coordinates ``w_1, w_2, ...`` of v one after the other, those of ``Y_{t+1}`` that are not in
``Y_t`` in the t-th block. Inputs in ``w_t`` are ``g_1 ... g_t``, functions of ``w_1 ... w_{t-1}``.
Where the noise of a coordinate follows from that of earlier ones, so does the coordinate, on both
neighbours alike: ``L D`` is in the range of W. Leave these out. Let ``W W' = R R'`` in these
coordinates, R lower triangular. Then ``R^-1 w = R^-1 L g + z``, with z standard normal: given the
past, the t-th block is normal with covariance 1, and its mean differs between neighbours by ``h_t =
(R^-1 L D)_t``, a function of the past, as L is block lower triangular in this order. Whatever
happens, ``sum ||h_t||^2 = ||R^-1 L D||^2 <= mu^2``. Add one more Gaussian output that moves by the
root of what is left of ``mu^2``. Then the log-likelihood ratio is ``sum h_t z_t -+ mu^2 / 2``, and
``sum h_t z_t`` is a Brownian motion at the time ``sum ||h_t||^2 = mu^2``, which is fixed: it is
normal, with variance ``mu^2``, as between N(0, 1) and N(mu, 1) (Dong, Roth & Su 2022; for budgets
that are spent adaptively Smith & Thakurta 2022). Who does not see the last output knows no more.

**What is checked**, for the arguments of all inputs that what is seen is made of, or that such
arguments are made of; those of other people's data, too, as what these answer to something hidden
moves with it:

* *By the program.* Known are: what is seen; data that are the same on neighbours; an input that no
  neighbour changes, if its arguments are known; and sums of what is known. All of it was formed
  earlier, so that no later input is in it.
* *By ranks*, what is left: an argument is a combination of seen rows if and only if it adds nothing
  to the rank of their ``[W, L]``. No later input is in an argument, so none is in the combination.

Order is no further condition: code has no argument in which its own input is. And noise of its own
for each new row is the range: noise that is shared, or known, lets ``L D`` leave it.

Otherwise the observer is *given* the arguments that it lacks. This is an **upper view**: the
theorem holds for it, and what is seen is a part of it. The lower end of mu is that of inputs that
are fixed. Both ends hold; between them nothing is known.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.affine.form import ids_of
from dpaudit.affine.inputs import InputCall
from dpaudit.affine.kinds import Exact, Rationals, Residues
from dpaudit.affine.observation import ENOUGH, PRIMES
from dpaudit.affine.program import NOWHERE, AffineProgram, CoordinateBlock, Ids
from dpaudit.affine.view import MOST_EXACT, Proof, View

Known = NDArray[np.bool_]
NONE: Ids = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class AdaptiveView(View):
    """The view of an observer on a recursion whose inputs depend on earlier outputs.

    Parameters
    ----------
    calls
        The adaptive inputs of the program, in order.

    Notes
    -----
    Formal guarantee: for all inputs of bounded norm, whatever they make of their arguments, the
    view is Gaussian DP with the upper end of ``mu``; no smaller one than the lower end holds. The
    two meet unless the observer `lacks` arguments, or the change has no exact largest mu.
    """

    calls: tuple[InputCall, ...] = ()

    @cached_property
    def lacks(self) -> Ids:
        """The coordinates of arguments that do not follow from the view; none if exact."""
        unknown = self._not_formed
        return unknown if len(unknown) and not self._are_combinations[0] else unknown[:0]

    @property
    def is_upper(self) -> bool:
        """Whether the upper end is that of an observer who also has the missing coordinates."""
        return bool(len(self.lacks))

    @cached_property
    def upper_view(self) -> View:
        """The view of an observer who sees all that inputs depend on."""
        return View(self.program, np.concatenate([self.ids, self.lacks]), self.change)

    @cached_property
    def mu(self) -> Bracket:
        """Two ends of the largest mu over all inputs."""
        # Inputs that depend on nothing are among those that are allowed, so their mu is a lower
        # end always.
        fixed = View(self.program, self.ids, self.change)
        if not self.is_upper:
            return fixed.mu
        return Bracket(fixed.mu.lower, self.upper_view.mu.upper)

    @cached_property
    def proof(self) -> Proof:
        """The method that decides whether mu is finite and on which numbers inputs depend."""
        view = self.upper_view if self.is_upper else View(self.program, self.ids, self.change)
        by_ranks = len(self._not_formed) and not self.is_upper
        return "primes" if by_ranks and not self._are_combinations[1] else view.proof

    @cached_property
    def _changed(self) -> Ids:
        return self.program.leaves("data")[self.change.locate_changes()]

    @cached_property
    def _not_formed(self) -> Ids:
        """The coordinates of arguments that the program does not form from known ones."""
        known = find_known(self.program, self.ids, self._changed, self.calls)
        every = _arguments_behind(self.program, self.ids, self.calls)
        return np.asarray(every[~known[every]])

    @cached_property
    def _are_combinations(self) -> tuple[bool, bool]:
        """Whether those are combinations of rows that are seen, and whether this is proved."""
        normals, more = self.program.leaves("noise"), self._not_formed
        rows = np.setdiff1d(self.ids, normals)
        reached = self.program.reached(np.concatenate([rows, more]))
        noise = np.setdiff1d(normals[reached[normals]], self.ids)
        # Exact ranks where the table is small enough; primes, which only prove that a rank is
        # at least so much, elsewhere.
        if (len(rows) + len(more)) * (len(noise) + len(self._inputs)) <= MOST_EXACT:
            return self._adds_nothing(Rationals(), rows, more, noise), True
        found = list[bool]()
        for prime in PRIMES:
            # A prime that divides a divisor says nothing, and another one is taken.
            with contextlib.suppress(ZeroDivisionError):
                found.append(self._adds_nothing(Residues(prime), rows, more, noise))
            if len(found) == ENOUGH:
                return all(found), False
        return False, False

    @cached_property
    def _inputs(self) -> NDArray[np.intp]:
        """The data on which an argument and a combination have to agree: inputs, and the change."""
        inputs = [one.ids for one in self.calls]
        every = np.unique(np.concatenate([self._changed, *inputs]))
        return np.searchsorted(self.program.leaves("data"), every)

    def _adds_nothing(self, kind: Residues | Rationals, rows: Ids, more: Ids, noise: Ids) -> bool:
        table = self._coefficients(kind, np.concatenate([rows, more]), noise)
        if not table.shape[1]:
            return True
        seen = kind.flint(table[: len(rows)]).rank() if len(rows) else 0
        return bool(kind.flint(table).rank() == seen)

    def _coefficients(self, kind: Exact, ids: Ids, noise: Ids) -> NDArray[Any]:
        every = self.program.coefficients(kind, ids, noise)
        columns = np.concatenate([np.arange(len(noise)), len(noise) + self._inputs])
        return np.ascontiguousarray(every[:, columns])


def find_known(
    program: AffineProgram, seen: Ids, changed: Ids, calls: Sequence[InputCall]
) -> Known:
    """Return for every coordinate whether it is formed of an observer's knowledge, ``(size,)``.

    Parameters
    ----------
    program
        The recursion.
    seen
        What the observer sees.
    changed
        Which data differ between neighbours.
    calls
        The adaptive inputs.

    Examples
    --------
    >>> from dpaudit.affine.program import BlockTerm
    >>> program = AffineProgram()
    >>> data, noise = program.add_leaf("data", 1), program.add_leaf("noise", 1)
    >>> sent = program.add_sum(BlockTerm(data), BlockTerm(noise))
    >>> half = program.add_sum(BlockTerm(sent, np.array([0.5])))
    >>> find_known(program, sent, data, ()).tolist()
    [False, False, True, True]
    """
    # One entry more: NOWHERE is -1, and so stands for the last one.
    known: Known = np.zeros(program.size + 1, dtype=np.bool_)
    known[[*seen[seen != NOWHERE], NOWHERE]] = True  # the last entry is that of public numbers
    differs = np.zeros(program.size, dtype=np.bool_)
    differs[changed] = True
    arguments = {int(one.ids[0]): ids_of(one.arguments) for one in calls}
    for block in program.blocks:
        own = slice(block.start, block.start + block.size)
        if block.kind == "data":
            known[own] |= ~differs[own] & known[arguments.get(block.start, NONE)].all()
        elif block.kind == "sum":
            known[own] |= _are_formed(block, known)
    return known[:-1]


def _arguments_behind(program: AffineProgram, seen: Ids, calls: Sequence[InputCall]) -> Ids:
    """Return the arguments of all inputs that some coordinates are made of, and so on."""
    found, left = NONE, list(calls)
    while True:
        reached = program.reached(np.concatenate([seen, found]))
        behind = [one for one in left if reached[one.ids].any()]
        if not behind:
            return found
        left = [one for one in left if not reached[one.ids].any()]
        found = np.unique(np.concatenate([found, ids_of([one.arguments for one in behind])]))


def _are_formed(block: CoordinateBlock, known: Known) -> Known:
    """Return which of a block's sums are made of known numbers alone."""
    found = np.ones(block.size, dtype=np.bool_)
    for term in block.terms:
        if (matrix := term.matrix) is None:
            found &= known[term.ids]
        else:
            # An entry of 0 needs nothing of its column.
            lacking = ~known[term.ids[matrix.at_column]] & (matrix.numbers != 0)
            found[matrix.at_row[lacking]] = False
    return found
