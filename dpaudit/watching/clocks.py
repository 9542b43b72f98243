"""Clocks that are set forward: noise that follows from the time of a day shows itself.

Python's clocks are replaced in a process that is there for this alone, before the code is imported
that is looked at. Whatever is the same at other times does not come from them.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

# An odd number of seconds: days, hours, minutes and weekdays are all others.
STEP = 34_567_397.0
# The originals are taken when this module is imported, before `install` replaces them; the new
# ones would call themselves.
_real = {
    name: getattr(time, name)
    for name in ("time", "time_ns", "localtime", "gmtime", "ctime", "asctime", "strftime")
}
_date = datetime.date
_datetime = datetime.datetime
_UTC = datetime.timezone(datetime.timedelta())  # Python 3.9 has no datetime.UTC
_REAL: dict[str, type] = {"date": _date, "datetime": _datetime}


class Clocks:
    """Python's clocks, so many steps ahead.

    Parameters
    ----------
    ahead
        Steps of `STEP` seconds.
    """

    def __init__(self, ahead: int = 1) -> None:
        self.ahead = ahead

    @property
    def seconds(self) -> float:
        """The time that they show."""
        return float(_real["time"]()) + self.ahead * STEP

    def install(self) -> None:
        """Let Python's clocks be these, for the rest of this process."""
        time.time = lambda: self.seconds
        time.time_ns = lambda: int(self.seconds * 1e9)
        for name in ("localtime", "gmtime", "ctime"):
            setattr(time, name, self._of_a_moment(_real[name]))
        time.strftime = lambda text, when=None: _real["strftime"](
            text, _real["localtime"](self.seconds) if when is None else when
        )
        time.asctime = lambda when=None: _real["asctime"](
            _real["localtime"](self.seconds) if when is None else when
        )
        dates = _dates(self)
        datetime.date, datetime.datetime = dates  # type: ignore[misc]

    def _of_a_moment(self, real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda when=None: real(self.seconds if when is None else when)


def _dates(clocks: Clocks) -> tuple[type[Any], type[Any]]:
    """Return types of dates that know these clocks, of which all dates are instances."""

    class Alike(type):
        def __instancecheck__(cls, value: object) -> bool:
            real = _REAL.get(cls.__name__) if cls.__module__ == "datetime" else None
            return type.__instancecheck__(cls, value) if real is None else isinstance(value, real)

    class Date(_date, metaclass=Alike):
        @classmethod
        def today(cls) -> Any:
            return _date.fromtimestamp(clocks.seconds)

    class DateTime(_datetime, metaclass=Alike):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return _datetime.fromtimestamp(clocks.seconds, tz)

        @classmethod
        def utcnow(cls) -> Any:
            return _datetime.fromtimestamp(clocks.seconds, _UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return _datetime.fromtimestamp(clocks.seconds)

    for kind, name in ((Date, "date"), (DateTime, "datetime")):
        kind.__name__ = kind.__qualname__ = name
        kind.__module__ = "datetime"
    return Date, DateTime
