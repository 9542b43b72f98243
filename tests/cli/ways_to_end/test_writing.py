"""Files that the system does not let grow, places that go away, and what somebody plants there."""

import ctypes
import os
import resource
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest

import dpaudit.files as files

from .ways import HELD, INTERRUPT, INTERRUPTED, LATER, REFUTED, WRITING, Ways

WAYS = Ways()
CANNOT = r"error: .*out: the report cannot be written here \({}\); choose another directory"
DAC_OVERRIDE, VERSION = 1, 0x20080522


@contextmanager
def files_of_at_most(size):
    """Let no file of this process grow beyond so many bytes: the system refuses."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def bound_by_permissions():
    """Let permissions of files hold for this process, if it is root's too."""
    system = ctypes.CDLL(None, use_errno=True)
    head, sets = (ctypes.c_uint32 * 2)(VERSION, 0), (ctypes.c_uint32 * 6)()
    assert system.capget(head, sets) == 0
    before = sets[0]
    sets[0] = before & ~(1 << DAC_OVERRIDE)
    assert system.capset(head, sets) == 0
    try:
        yield
    finally:
        sets[0] = before
        assert system.capset(head, sets) == 0


def with_an_old_report(here):
    """Write a report of a sound mechanism, and return what is there."""
    assert here.audit(here.audits("Sound"), "--out", "out").status == 0
    return content(here)


def content(here):
    files = (here.folder / "out").glob("[!s]*")  # but the store, which grows while it is drawn
    return {path.name: path.read_bytes() for path in files}


@WAYS.end(2, WRITING, CANNOT.format("File too large"))
def _files_that_may_not_grow(here):
    before = with_an_old_report(here)
    with files_of_at_most(1500):
        ran = here.audit(here.audits("Broken"), "--out", "out")
    assert content(here) == before
    assert "one: The certified lower bound" in ran.out
    return ran


linux = pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")


@WAYS.end(2, WRITING, CANNOT.format("Permission denied"), linux)
def _a_folder_that_may_only_be_read(here):
    before = with_an_old_report(here)
    (here.folder / "out").chmod(0o500)
    with bound_by_permissions():
        ran = here.audit(here.audits("Broken"), "--out", "out")
    assert content(here) == before
    assert ran.out == ""  # nothing was drawn in vain
    return ran


@WAYS.end(2, WRITING, CANNOT.format("Permission denied"), linux)
def _a_folder_that_may_only_be_read_when_the_audit_ends(here):
    before = with_an_old_report(here)
    code = f"Doing = doing(lambda: os.chmod({str(here.folder / 'out')!r}, 0o500))\n"
    with bound_by_permissions():
        ran = here.audit(here.audits("Doing", code=code), "--out", "out")
    assert content(here) == before
    assert f"one: {LATER} The certified lower bound" in " ".join(ran.out.split())
    return ran


def at_each_second_file(here, deed):
    """Do something whenever the second file of a report is begun."""
    made, make = [], files.token_hex

    def watched(size):
        made.append(size)
        if len(made) % 2 == 0:
            deed()
        return make(size)

    here.monkeypatch.setattr(files, "token_hex", watched)


@WAYS.end(2, WRITING, CANNOT.format("No such file or directory"))
def _a_folder_that_vanishes_in_the_middle(here):
    path = here.audits("Broken")
    at_each_second_file(here, lambda: shutil.rmtree(here.folder / "out"))
    ran = here.audit(path, "--out", "out")
    assert not (here.folder / "out").exists()
    return ran


@WAYS.end(2, WRITING, CANNOT.format("File exists"))
def _a_folder_that_becomes_a_file_in_the_middle(here):
    out = here.folder / "out"
    at_each_second_file(here, lambda: (shutil.rmtree(out), out.write_text("mine")))
    ran = here.audit(here.audits("Broken"), "--out", "out")
    assert out.read_text() == "mine"
    return ran


@WAYS.end(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_as_a_temporary_file_is_made(here):
    path, make, made = here.audits("Broken"), os.open, []

    def interrupted(name, flags, *mode, **more):
        descriptor = make(name, flags, *mode, **more)
        if str(name).endswith(".part"):
            made.append(name)
            if len(made) == 2:
                raise KeyboardInterrupt
        return descriptor

    here.monkeypatch.setattr(os, "open", interrupted)
    ran = here.audit(path, "--out", "out")
    assert len(made) > 2
    return ran


@WAYS.end(1, REFUTED, HELD)
def _a_link_in_the_place_of_every_temporary_file(here):
    mine, sync = here.folder / "mine", os.fsync
    mine.write_text("mine")
    mine.chmod(0o600)

    def planting(descriptor):
        sync(descriptor)
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        os.rename(name, f"{name}.moved")
        os.symlink(mine, name)

    here.monkeypatch.setattr(os, "fsync", planting)
    ran = here.audit(here.audits("Broken"), "--out", "out")
    assert (mine.read_text(), mine.stat().st_mode & 0o777) == ("mine", 0o600)
    for path in (here.folder / "out").glob(".*.moved"):
        path.unlink()
    return ran


SMALL = """
mkdir -p out; mount -t tmpfs -o size=64k none out; echo old > out/report.json
{}; status=$?; cp -r out kept; exit $status
"""


def own_mounts():
    """Return whether this system lets a process have file systems of its own."""
    asked = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]
    try:
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def in_a_small_file_system(here, before_it="true", beside=()):
    if not own_mounts():
        pytest.skip("this system has no mounts for a process of its own")
    (here.folder / "run.sh").write_text(SMALL.replace("{}", f"{before_it}; $@"))
    ran = here.process(
        "audit", here.audits("Broken"), "--out", "out", shell="unshare -rm sh run.sh {}"
    )
    kept = here.folder / "kept"
    assert {one.name for one in kept.iterdir()} == {"report.json", *beside}
    assert (kept / "report.json").read_text() == "old\n"
    return ran


@WAYS.end(2, WRITING, CANNOT.format("No space left on device"), pytest.mark.slow)
def _a_file_system_that_is_too_small(here):
    """What a store was begun with stays, as outputs may cost; a line says that it is not whole."""
    ran = in_a_small_file_system(here, beside=["store.sqlite"])
    assert "store out/store.sqlite: the disk is full;" in ran.err
    assert "is not kept" in ran.err
    return ran


@WAYS.end(2, WRITING, CANNOT.format("Read-only file system"), pytest.mark.slow)
def _a_file_system_that_can_only_be_read(here):
    return in_a_small_file_system(here, "mount -o remount,ro out")


@pytest.mark.parametrize("way", WAYS.cases)
@pytest.mark.filterwarnings("ignore::dpaudit.store.keeping.NotKept")
def test_it_ends_as_the_page_says(here, way):
    assert way.complaints(way.ends(here)) == []
