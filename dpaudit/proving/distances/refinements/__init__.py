"""Better distances, where forward rules are not exact: found on demand, from how a value is formed.

A refinement is a function of an analysis and a node that returns a bound on how far the node's
value moves, or `dpaudit.proving.universe.UNBOUNDED`. It looks at a slice of some hundred nodes at
most.

What a checker needs, each of it in exact rationals:

* `one_record`: a value as polynomials (`polynomials`, `reading`), uniformly or record by record,
  and widths of polynomials of a few numbers. To check a width it is enough to *verify* the two
  ends that are claimed: halve boxes until interval arithmetic (or the mean value form) keeps each
  below (`ranges`). Order statistics of one column are atoms of their own.
* `parts`: distances of sums, norms, multiples and joined values from those of their operands.
* `modulus`: a monotone convex or concave function moves most at an end of its interval.
* `pairs`: a quotient of two sums, with both sides of a pair of neighbours at once.
"""

from __future__ import annotations

from dpaudit.proving.distances.refinements.contract import Refinement
from dpaudit.proving.distances.refinements.forms import remember_forms
from dpaudit.proving.distances.refinements.modulus import bound_modulus
from dpaudit.proving.distances.refinements.one_record import bound_one_record
from dpaudit.proving.distances.refinements.pairs import bound_pairs
from dpaudit.proving.distances.refinements.parts import bound_by_parts

REFINEMENTS: tuple[Refinement, ...] = (
    remember_forms(bound_one_record),
    bound_by_parts,
    bound_modulus,
    remember_forms(bound_pairs),
)
"""All refinements, the cheapest that are often exact first."""
