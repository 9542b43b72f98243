"""Where a report was made."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version

from dpaudit.execution import available_cores
from dpaudit.report.schema import Environment

_PACKAGES = ("numpy", "scipy", "statsmodels", "scikit-learn", "joblib", "networkx", "pydantic")


def environment(workers: int, seconds: float) -> Environment:
    """Return this machine and these packages, for a report that took so many seconds."""
    return Environment(
        dpaudit=version("dpaudit"),
        python=platform.python_version(),
        packages={package: version(package) for package in _PACKAGES},
        cores=available_cores(),
        workers=workers,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(seconds, 2),
    )
