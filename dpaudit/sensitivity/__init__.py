"""Sensitivity lemmas: the object that states one, and general theorems that give one."""

from dpaudit.sensitivity.bound import Lemma

__all__ = ["Lemma"]
