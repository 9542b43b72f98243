"""The environment of a process, replaced by tables that tell who reads it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, ItemsView, KeysView, ValuesView
from typing import Any

Tell = Callable[[str], None]


def watch(tell: Tell) -> None:
    """Let the environment of this process tell which variable is read, from now on."""

    class Environment(type(os.environ)):  # type: ignore[misc]
        def __getitem__(self, key: Any) -> Any:
            found = super().__getitem__(key)
            tell(os.fsdecode(key))
            return found

        def __iter__(self) -> Any:
            tell("all of them")
            return super().__iter__()

    for one in (os.environ, getattr(os, "environb", None)):
        if one is not None:
            # The class is changed and not the object: whoever imported `environ` by name holds
            # the object.
            one.__class__ = Environment
    _watch_table(tell)


def _watch_table(tell: Tell) -> None:
    """Let the table below the environment, which `posix.environ` is, tell who reads it."""

    class Table(dict[Any, Any]):
        def __getitem__(self, key: Any) -> Any:
            found = super().__getitem__(key)
            tell(os.fsdecode(key))
            return found

        def get(self, key: Any, default: Any = None) -> Any:
            return self[key] if key in self else default

        def __iter__(self) -> Any:
            tell("all of them")
            return super().__iter__()

        def keys(self) -> Any:
            return KeysView(self)

        def items(self) -> Any:
            return ItemsView(self)

        def values(self) -> Any:
            return ValuesView(self)

        def copy(self) -> Any:
            return dict(self.items())

        def pop(self, key: Any, *default: Any) -> Any:
            self.get(key)
            return super().pop(key, *default)

        def setdefault(self, key: Any, default: Any = None) -> Any:
            self.get(key)
            return super().setdefault(key, default)

    system: Any = sys.modules[os.name]  # posix, or nt
    table: Any = os.environ
    table._data = system.environ = Table(system.environ)
    as_bytes: Any = getattr(os, "environb", None)
    if as_bytes is not None:
        as_bytes._data = table._data
