"""The identity of an installed package: its version, its code, and everything that it needs.

A version says what somebody meant to install. Here it is read what is there: the list of files with
their digests (``RECORD``), the commit or archive that it was installed from (``direct_url.json``),
and the code itself, as files are edited where they lie. Of packages of numbers the version is
enough: their code is that of the machine, which is noted beside an audit.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import re
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution
from pathlib import Path

# Their code changes how fast something is, or its last bits; the version is what an author names.
NUMERICAL = {"numpy", "scipy", "pandas", "sklearn", "joblib", "threadpoolctl", "cloudpickle"}
_CODE = (".py", ".so", ".pyd", ".dylib", ".dll", ".jar", ".pyx", ".pth")
_MOST = 64 * 2**20  # bytes of code of a distribution that are read; of more, what RECORD says
_SIZE = 16
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def digest_of_packages(tops: Sequence[str]) -> str:
    """Return a digest of the packages that are imported by these names, and of all they need.

    Nothing of it is remembered: a package may be installed anew while a program runs.

    Examples
    --------
    >>> numerical = digest_of_packages(["numpy"])
    >>> numerical == digest_of_packages(["numpy"]) != digest_of_packages(["scipy"])
    True
    """
    hashed = hashlib.blake2b(digest_size=_SIZE)
    installed = find_distribution_names(tops)
    for top in tops:
        for part in _of_package(top, sorted(installed[top])):
            hashed.update(len(part).to_bytes(8, "big") + part)
    return hashed.hexdigest()


def find_distribution_names(tops: Sequence[str]) -> dict[str, set[str]]:
    """Return the distributions that install packages of these names, by name of the package.

    As `importlib.metadata.packages_distributions` has them, which reads every file's name of every
    distribution.

    Examples
    --------
    >>> find_distribution_names(["numpy", "sklearn", "no_such_package"])
    {'numpy': {'numpy'}, 'sklearn': {'scikit-learn'}, 'no_such_package': set()}
    """
    found: dict[str, set[str]] = {top: set() for top in tops}
    for one in importlib.metadata.distributions() if tops else ():
        for top in found.keys() & _read_import_names(one):
            found[top].add(one.metadata["Name"])
    return found


def _read_import_names(distribution: Distribution) -> set[str]:
    """Return the first names that a distribution declares, or those of its modules."""
    if declared := (distribution.read_text("top_level.txt") or "").split():
        return set(declared)
    record = distribution.read_text("RECORD")
    listed = map(str, distribution.files or ()) if record is None else record.splitlines()
    names = (line.partition(",")[0].strip('"') for line in listed)
    firsts = (name.partition("/")[0] for name in names if name.endswith(".py"))
    return {first.removesuffix(".py") for first in firsts}


def _of_package(top: str, names: list[str]) -> Iterator[bytes]:
    yield top.encode()
    if top in NUMERICAL:
        yield repr([_get_package_version(name) for name in names or [top]]).encode()
        return
    found = list(_find_needed_distributions(names))
    for one in found:
        yield from _generate_distribution_parts(one)
    if not found:
        yield _hash_file_contents(_files_of_module(top))


def _get_package_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _find_needed_distributions(names: list[str]) -> Iterator[Distribution]:
    """Yield distributions, and those that they need, as far as they are installed."""
    waiting, seen = list(names), set[str]()
    while waiting:
        name = waiting.pop(0)
        key = re.sub(r"[-_.]+", "-", name).lower()
        # dpaudit's own source is part of every identity, and packages of numbers count by their
        # version where code names them.
        if key in seen or key in ("dpaudit", "scikit-learn", *NUMERICAL):
            continue
        seen.add(key)
        try:
            found = importlib.metadata.distribution(name)
        except (importlib.metadata.PackageNotFoundError, ValueError):
            continue
        yield found
        required = (_NAME.match(one) for one in found.requires or () if "extra ==" not in one)
        waiting += sorted(match[0] for match in required if match is not None)


def _generate_distribution_parts(found: Distribution) -> Iterator[bytes]:
    """Yield the version, the origin, the list of files and the code of a distribution."""
    yield f"{found.metadata['Name']} {found.version}".encode()
    yield json.dumps(_read_install_origin(found), sort_keys=True).encode()
    listed = sorted(_list_distribution_files(found))
    yield "\n".join(f"{name} {digest} {size}" for name, digest, size in listed).encode()
    places = [Path(str(found.locate_file(name))) for name, _, _ in listed]
    code = [one for one in places if one.suffix in _CODE]
    if sum(_get_file_size(one) for one in code) <= _MOST:
        yield _hash_file_contents(code)
    else:
        yield repr([_get_file_size(one) for one in code]).encode()
        yield _hash_file_contents([one for one in code if one.suffix == ".py"])


def _read_install_origin(found: Distribution) -> object:
    """Return the commit or the archive that a distribution was installed from, if it says."""
    try:
        origin = json.loads(found.read_text("direct_url.json") or "{}")
        commit = origin.get("vcs_info", {}).get("commit_id")
        return commit, origin.get("archive_info", {}).get("hash")
    except (ValueError, AttributeError, OSError):
        return None


def _list_distribution_files(found: Distribution) -> Iterator[tuple[str, str, int]]:
    """Yield name, digest and size of the files of a distribution that no installer made."""
    for one in found.files or ():
        parts = one.parts
        made = any(part.endswith((".dist-info", ".egg-info")) for part in parts)
        # What installers and Python write differs from machine to machine, for the same package.
        if made or "__pycache__" in parts or ".." in parts:
            continue
        digest = one.hash.value if one.hash is not None else ""
        yield one.as_posix(), digest, one.size or 0


def _files_of_module(top: str) -> list[Path]:
    """Return the files of code of a package that no installer knows."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return []
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    if spec is not None and not folders and spec.origin is not None:
        return [Path(spec.origin)]
    inside = (path for folder in folders for path in Path(folder).rglob("*"))
    return sorted(path for path in inside if path.suffix in _CODE)


def _get_file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _hash_file_contents(paths: list[Path]) -> bytes:
    hashed = hashlib.blake2b(digest_size=_SIZE)
    for path in paths:
        try:
            content = path.read_bytes()
        except OSError:
            content = b"(gone)"
        hashed.update(f"{path.name}:{len(content)}:".encode() + content)
    return hashed.digest()
