"""Estimators: certified lower bounds on a privacy loss from outputs, whole or stage by stage."""
