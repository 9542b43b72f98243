"""Sensitivity lemmas: the object that states one, and general theorems that give one."""

from dpaudit.refutation.bound import Lemma
from dpaudit.refutation.theorems import (
    bounded_mean,
    clipped_sum,
    gradient_step,
    strongly_convex_minimiser,
)

__all__ = [
    "Lemma",
    "bounded_mean",
    "clipped_sum",
    "gradient_step",
    "strongly_convex_minimiser",
]
