"""Sensitivity lemmas as objects, a search for violations, and certificates of what it found."""

from dpaudit.sensitivity.bound import Condition, Lemma, exceeds
from dpaudit.sensitivity.certificate import Certificate
from dpaudit.sensitivity.search import Found, Space, maximise

__all__ = ["Certificate", "Condition", "Found", "Lemma", "Space", "exceeds", "maximise"]
