"""The environment of a report: versions, the machine, the moment, and the state of its store."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version

from pydantic import Field

from dpaudit.execution import available_cores
from dpaudit.report.counts import ReportPart

_PACKAGES = ("numpy", "scipy", "scikit-learn", "joblib", "networkx", "pydantic")


class Taken(ReportPart):
    """The outputs of an earlier run that a store kept, so that they were not drawn again.

    ``left_out`` is what differs from run to run by its nature, such as the clock, and is read by
    the code: that it is the same is not known.
    """

    outputs: int
    decisions: int
    left_out: list[str] = Field(default=[])


class Environment(ReportPart):
    """The environment in which the report was made; nothing in it changes a number."""

    dpaudit: str
    python: str
    packages: dict[str, str]
    cores: int
    workers: int
    created: str
    seconds: float
    taken: Taken | None = Field(default=None, description="From a store; null if nothing was.")

    @classmethod
    def of_this_machine(cls, workers: int, seconds: float) -> Environment:
        """Return this machine and these packages, for a report that took so many seconds."""
        return cls(
            dpaudit=version("dpaudit"),
            python=platform.python_version(),
            packages={package: version(package) for package in _PACKAGES},
            cores=available_cores(),
            workers=workers,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=round(seconds, 2),
        )
