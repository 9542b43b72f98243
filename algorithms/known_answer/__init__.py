"""Mechanisms whose exact epsilon is known, correct ones and broken ones, to test an auditor.

An audit may not accuse the correct ones, and has to find the broken ones out. Every class derives
the true epsilon in its docstring, with its source; the epsilon that the mechanism's source claims
is stated beside it, and the most that any event on the worst pair shows.

Formal guarantee: a mechanism is (true epsilon, delta)-differentially private, and for no smaller
epsilon.
"""

from dpaudit.algorithms.known_answer.answer import KnownAnswer, KnownMechanism
from dpaudit.algorithms.known_answer.registry import KNOWN_ANSWERS, make_known_answers

__all__ = ["KNOWN_ANSWERS", "KnownAnswer", "KnownMechanism", "make_known_answers"]
