"""A package on a path is a library where it was installed there, and somebody's own code if not."""

from __future__ import annotations

import sys

import pytest

import dpaudit._packages as installed
from dpaudit._packages import is_installed, package_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder on the path with a package that pip put there, and a project of the user's."""
    for name in ("bought", "mine"):
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "part.py").write_text("scale = 1.0\n")
    (tmp_path / "single.py").write_text("")
    record = tmp_path / "bought-1.0.dist-info"
    record.mkdir()
    (record / "RECORD").write_text("bought/__init__.py,,\nbought/part.py,,\nsingle.py,,\n")
    (tmp_path / "mine.egg-info").mkdir()
    (tmp_path / "mine.egg-info" / "SOURCES.txt").write_text("mine/__init__.py\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for cached in (is_installed, package_of, installed._read_installed_names):
        cached.cache_clear()
    yield tmp_path
    for cached in (is_installed, package_of, installed._read_installed_names):
        cached.cache_clear()


def test_what_was_installed_into_a_folder_is_a_library(folder):
    assert package_of(str(folder / "bought" / "part.py")) == "bought"
    assert package_of(str(folder / "single.py")) == "single"
    assert is_installed(str(folder / "bought" / "__init__.py"))


def test_a_project_on_the_path_is_the_users(folder):
    assert package_of(str(folder / "mine" / "part.py")) is None
    assert not is_installed(str(folder / "mine" / "part.py"))
    assert not is_installed(str(folder / "mine.py"))


def test_identity_walks_a_project_and_no_library(folder, monkeypatch):
    from dpaudit.store.identity import identified

    sys.modules.pop("bought", None)
    (folder / "bought" / "__init__.py").write_text("def f(x):\n    return x\n")
    (folder / "mine" / "__init__.py").write_text("import bought\ndef f(x):\n    return x\n")
    import bought
    import mine

    try:
        found, own = identified(bought.f), identified(mine.f)
    finally:
        for name in ("bought", "mine"):
            sys.modules.pop(name, None)
    assert not [one for one in found.files if "bought" in one]
    assert "bought" in found.packages
    assert [one for one in own.files if "mine" in one]
    assert "bought" in own.packages
