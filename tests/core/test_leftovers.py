"""Folders for temporary files go with the last process that uses them, also where it is killed."""

import errno
import os
import signal
import subprocess
import sys
import tempfile

import pytest

import dpaudit.execution.leftovers as leftovers
from dpaudit.errors import DataError

HOLDS = """
import sys
import dpaudit.execution.leftovers as leftovers
place = leftovers.make_held_folder(sys.argv[1])
(place / "data.csv").write_text("31")
print(place, flush=True)
sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def holder(name):
    """Return another process that uses a folder, once it does."""
    given = [sys.executable, "-c", HOLDS, name]
    found = subprocess.Popen(given, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    found.stdout.readline()
    return found


def ended(process):
    """Let a process end as it wants to."""
    process.communicate(b"\n", timeout=30)


def killed(process):
    """End a process at once."""
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_folder_goes_with_its_last_user_and_what_a_kill_leaves_with_the_next_start(tmp_path):
    place, other = leftovers.make_held_folder("shared"), holder("shared")
    killed(holder("killed"))
    leftovers.leave_held_folder("shared")
    assert sorted(one.name[-6:] for one in tmp_path.iterdir()) == ["killed", "shared"]
    leftovers.remove_leftovers()
    assert list(tmp_path.iterdir()) == [place]  # another process uses it
    ended(other)
    assert not place.exists()


def test_a_folder_that_went_is_made_anew_and_is_held(tmp_path):
    place = leftovers.make_held_folder("again")
    place.rmdir()
    assert leftovers.make_held_folder("again").is_dir()
    leftovers.remove_leftovers()
    assert place.is_dir()
    leftovers.leave_held_folder("again")
    assert not place.exists()


def test_a_folder_is_for_its_user_alone_and_nothing_else_is_removed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").touch()
    (tmp_path / f"dpaudit-{os.getuid()}-link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "dpaudit-mine").mkdir()
    leftovers.remove_leftovers()
    assert (tmp_path / "elsewhere" / "kept").exists()
    assert (tmp_path / "dpaudit-mine").exists()
    place = leftovers.make_held_folder("private")
    assert place.stat().st_mode & 0o777 == 0o700
    leftovers.leave_held_folder("private")


def test_a_link_in_the_place_of_a_folder_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"dpaudit-{os.getuid()}-planted").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(leftovers.DataError, match="planted"):
        leftovers.make_held_folder("planted")


def test_a_folder_that_cannot_be_locked_leaves_no_descriptor_open(monkeypatch):
    def refuse(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    before = len(os.listdir("/dev/fd"))
    monkeypatch.setattr(leftovers.fcntl, "flock", refuse)
    with pytest.raises(DataError, match="No locks available, expected a folder"):
        leftovers.make_held_folder("unlocked")
    assert len(os.listdir("/dev/fd")) == before
