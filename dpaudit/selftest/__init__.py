"""The auditor, audited: every estimator on laws whose epsilon is known, every attack on mechanisms.

Nominal against observed error rates, certified against true epsilons, and estimators made unsound
on purpose, which must be caught. ``dpaudit selftest`` runs it.
"""
