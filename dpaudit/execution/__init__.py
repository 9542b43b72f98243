"""Trials in units over worker processes: one seed, one result, bounded memory."""

from dpaudit.execution.executor import Executor, Progress, Silent
from dpaudit.execution.importing import importable
from dpaudit.execution.parent import end_with
from dpaudit.execution.processes import Limits
from dpaudit.execution.threads import available_cores, one_thread
from dpaudit.execution.units import Unit, plan_units, stream, unit_size

__all__ = [
    "Executor",
    "Limits",
    "Progress",
    "Silent",
    "Unit",
    "available_cores",
    "end_with",
    "importable",
    "one_thread",
    "plan_units",
    "stream",
    "unit_size",
]
