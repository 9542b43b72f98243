"""Environments that do not work, and folders that cannot be written, are said before a scan."""

import sys

import pytest

import dpaudit.scan.remote.environments as environments
from dpaudit.cli.scan import Destinations
from dpaudit.errors import DataError, DpauditError
from dpaudit.scan.remote.environments import VersionEnvironment, build_environment
from dpaudit.scan.scan import ScanBudget, scan_package


@pytest.fixture
def broken(tmp_path):
    """Return the Python of an environment that ends at once."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    return VersionEnvironment(str(python), "1.0")


def test_an_environment_that_does_not_work_is_said_with_its_folder(broken, tmp_path):
    with pytest.raises(DpauditError, match="does not work") as said:
        broken.described()
    assert str(tmp_path) in str(said.value)
    assert str(said.value).endswith("without it, it is built again")
    assert "\n" not in str(said.value)


def test_it_is_said_before_anything_is_drawn(toy, broken, monkeypatch):
    monkeypatch.setattr("dpaudit.scan.scan.place_of", lambda *_: broken)
    with pytest.raises(DpauditError, match="does not work"):
        scan_package(toy.PACKAGE, budget=ScanBudget(seconds=5.0))


def test_an_environment_whose_python_is_gone_is_built_again(tmp_path, monkeypatch):
    def build(target, *_):
        (target / "bin").mkdir(parents=True)
        (target / "bin" / "python").symlink_to(sys.executable)

    monkeypatch.setenv("DPAUDIT_ENVIRONMENTS", str(tmp_path))
    monkeypatch.setattr(environments, "_build_at_target", build)
    python = build_environment(("toy==1.0",))
    python.unlink()
    python.symlink_to(tmp_path / "gone")
    assert build_environment(("toy==1.0",)) == python
    assert python.exists()


def test_what_a_person_stated_is_read_before_the_scan(tmp_path):
    (tmp_path / "toy.toml").write_text("embargo = 3\n")
    with pytest.raises(DataError, match="embargo"):
        Destinations(out=None, gallery=str(tmp_path), disclosure="disclosure").prepare("toy")


def test_a_folder_of_drafts_that_is_a_file_is_said_before_the_scan(tmp_path):
    (tmp_path / "drafts").write_text("")
    places = Destinations(out=str(tmp_path), gallery=None, disclosure=str(tmp_path / "drafts"))
    with pytest.raises(DataError, match="drafts"):
        places.prepare("toy")
