"""The outside of a mechanism: everything on which its answers may depend beside its arguments.

Noise that was drawn once and is kept there is the same in every process of an audit. Modules,
installed packages and what a system has are no outside: they are the same for everybody.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Container, Iterator
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, Literal

Place = Literal["ours", "standard", "library", "user"]
_SOURCES = (".py", ".pyc", ".pyi", ".so", ".pth", ".dll", ".dylib")
_SYSTEM = ("/usr/share/", "/usr/lib", "/lib", "/bin/", "/usr/bin/", "/etc/ssl/", "/etc/ld.so")
# What everybody has there: names of this machine and of its users are not among it.
_COMMON = frozenset(
    f"/etc/{name}"
    for name in (
        *("localtime", "timezone", "nsswitch.conf", "resolv.conf", "hosts", "host.conf"),
        *("services", "protocols", "mime.types", "os-release", "gai.conf"),
    )
)
_DEVICES = frozenset(
    f"/dev/{name}" for name in ("null", "zero", "full", "tty", "urandom", "random")
)
# Modules of the standard library that read sources, or a clock for a purpose of their own.
_READERS = frozenset(("linecache", "tokenize", "inspect", "pkgutil", "zipimport", "traceback"))
# Packages that read the environment on behalf of who calls them.
_CONFIGURING = frozenset(
    "decouple environs dotenv pydantic_settings dynaconf environ envparse starlette".split()
)


@lru_cache
def _roots() -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return where this package, other packages, and the standard library are."""
    paths = sysconfig.get_paths()
    home = str(Path(__file__).resolve().parent.parent)
    packages = {paths["purelib"], paths["platlib"], *site.getsitepackages()}
    packages.add(site.getusersitepackages())
    standard = {paths["stdlib"], paths["platstdlib"], os.path.dirname(os.__file__)}
    return home, _folders(packages), _folders(standard)


def _folders(paths: set[str]) -> tuple[str, ...]:
    return tuple(f"{one.rstrip('/')}/" for path in paths for one in {path, os.path.realpath(path)})


@lru_cache(4096)
def place_of(file: str) -> Place:
    """Return whose code a file holds.

    Examples
    --------
    >>> place_of(__file__), place_of(os.__file__), place_of("/home/me/release.py")
    ('ours', 'standard', 'user')
    """
    home, packages, standard = _roots()
    if file.startswith("<frozen") or not file:
        return "standard"
    if os.path.realpath(file).startswith(f"{home}/"):
        return "ours"
    if file.startswith(packages):
        return "library"
    return "standard" if file.startswith(standard) else "user"


def is_outside(path: str) -> bool:
    """Return whether a file that is read may hold values that only this deployment has.

    Examples
    --------
    >>> is_outside("/home/me/key.bin"), is_outside("/dev/urandom"), is_outside(np_file())
    (True, False, False)
    """
    if path in _DEVICES or path in _COMMON or path.startswith(_SYSTEM) or "/__pycache__/" in path:
        return False
    if os.path.basename(os.path.dirname(path)).endswith((".egg-info", ".dist-info")):
        return False  # what an installer wrote down of a package, wherever that lies
    _, packages, standard = _roots()
    return not path.startswith((*packages, *standard))


def np_file() -> str:
    """Return a file of an installed package."""
    return str(sys.modules["numpy"].__file__)


def is_source(path: str) -> bool:
    """Return whether a file is a module by its name."""
    return path.endswith(_SOURCES)


def frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames of a call from the innermost one on."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def who_asks(frame: FrameType | None, own: Container[str]) -> Place | None:
    """Return whose code asks for something, None where a library is only being imported.

    Parameters
    ----------
    frame
        The innermost one.
    own
        The top-level packages of the mechanism, whose imports count wherever they are installed.
    """
    first: Place | None = None
    for one in frames(frame):
        place = place_of(one.f_code.co_filename)
        named = str(one.f_globals.get("__name__") or "")
        body = one.f_code.co_name == "<module>" and place in ("standard", "library")
        if body and named.partition(".")[0] not in own:
            return None
        if first is None and place != "standard":
            first = place
    return first if first in ("user", "library") else None


def reads_sources(frame: FrameType | None) -> bool:
    """Return whether the standard library reads source code, or imports, in a frame."""
    for one in frames(frame):
        name = str(one.f_globals.get("__name__") or "")
        if name in _READERS or name.startswith(("importlib", "_frozen_importlib")):
            return True
        if place_of(one.f_code.co_filename) != "standard":
            return False
    return False


def is_own(frame: FrameType | None, own: Container[str]) -> bool:
    """Return whether a package that is one of ``own`` asks for something."""
    for one in frames(frame):
        if place_of(one.f_code.co_filename) != "standard":
            return str(one.f_globals.get("__name__") or "").partition(".")[0] in own
    return False


def is_for_itself(frame: FrameType | None) -> bool:
    """Return whether a library that asks for a variable does so for a purpose of its own."""
    for one in frames(frame):
        if place_of(one.f_code.co_filename) != "standard":
            name = str(one.f_globals.get("__name__") or "")
            return name.partition(".")[0] not in _CONFIGURING
    return True


def is_direct(frame: FrameType | None) -> bool:
    """Return whether who asks for something is the user's own code, not a module in between."""
    for one in frames(frame):
        place: Any = place_of(one.f_code.co_filename)
        if place != "standard" or one.f_globals.get("__name__") not in ("os", "_collections_abc"):
            return bool(place == "user")
    return False
