"""Claims whose records are made by the search or the audit itself."""

from __future__ import annotations

from dpaudit.errors import InvalidArgument
from dpaudit.settings import WORST_CASE, Settings


def refuse_data(settings: Settings, why: str = "the search makes its own") -> None:
    """Raise `InvalidArgument` if the settings name data, which nothing would read.

    Examples
    --------
    >>> refuse_data(Settings())
    >>> refuse_data(Settings(data="adult"), "every run draws its own")
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: data: got 'adult', expected worst-case: every run draws its own
    """
    if settings.data != WORST_CASE:
        raise InvalidArgument("data", settings.data, f"{WORST_CASE}: {why}")
    if settings.data_path is not None:
        raise InvalidArgument("data_path", settings.data_path, "nothing: no file is read")
    if settings.data_options:
        raise InvalidArgument("data_option", dict(settings.data_options), "nothing")
