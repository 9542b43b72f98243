"""What needs POSIX says so at start on another system, in one line; what computes runs there."""

import subprocess
import sys

import pytest

import dpaudit
import dpaudit.errors as errors
from dpaudit.execution.keeper import KeeperProcess
from dpaudit.files import write_file


@pytest.fixture
def another_system(monkeypatch):
    monkeypatch.setattr(errors, "_SYSTEM", "nt")


@pytest.mark.parametrize("words", [["list"], ["--help"], ["audit", "huang2020-theorem6"]])
def test_the_command_line_says_so_before_anything_else(words):
    code = "import dpaudit.errors as e; e._SYSTEM = 'nt'; from dpaudit.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: dpaudit: got a system called 'nt', expected Linux, macOS")
    assert "WSL" in line


def test_a_process_for_a_mechanism_is_refused(another_system):
    with pytest.raises(errors.UnsupportedSystem, match="a mechanism in a process of its own: got"):
        KeeperProcess()


def test_no_file_is_begun(another_system, tmp_path):
    with pytest.raises(errors.UnsupportedSystem, match="expected Linux, macOS"):
        write_file(tmp_path / "report.json", b"{}")
    assert list(tmp_path.iterdir()) == []


def test_what_only_computes_is_not_kept_from_it(another_system):
    release = dpaudit.GaussianRelease(sensitivity=1.0, noise_scale=5.0)
    assert dpaudit.account(release, 1e-5).proved.upper > 0


def test_this_system_is_one_of_them():
    errors.require_posix("a test")
