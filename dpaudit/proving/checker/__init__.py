"""Checks a proof from code: a certificate of kind ``proof``, by rules of its own.

It needs the standard library and nothing else, shares nothing with what wrote the file, and believes no number of it: shapes, ends,
distances and events are derived again, in fractions, and rounded outwards where they are roots or
logarithms. The statement is about the program in the file; whether a function is that program is
another question (``dpaudit verify --mechanism`` answers it).

**How.** One record changes; all others are the same on both neighbours. Each number of the program
is a value on both sides: ends (``low``, ``high``), and by how much the second side is above the
first (``down``, ``up``). Sums of products are kept as polynomials of what they are made of, so that
what is alike on both sides cancels. With one more or one fewer record, the changed record has a
weight that is 0 on one side and 1 on the other. Where a program treats records alike, one of them
stands for each, and another for all others; elsewhere every record is changed in turn. Of k records
that change, each changes after the other: distances are k times as large.

Where a noisy number is looked at there is an event; after it, the number is public. What is
returned has to be the same on both sides. Laplace noise of scale b costs (L1 distance) / b,
Gaussian noise costs mu = (L2 distance) / sigma, and a noisy argmax costs (largest movement less the
smallest) / scale with Gumbel, Laplace or exponential noise: adding a number to all scores changes
no argmax.
Costs add up along each path, and the largest path counts; a path is left where a public number
decides, so these are filters: pure epsilon, rho and squared mu may be chosen as one goes.
"""

from .certificates import check, check_instance, main
from .costs import Cost
from .enclosures import NotVerified, root

__all__ = ["Cost", "NotVerified", "check", "check_instance", "main", "root"]
