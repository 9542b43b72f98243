"""What counts as the outside of a mechanism, by whose code asks and by what it asks for."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from dpaudit.watching import outside
from dpaudit.watching.watch import Watch, _of_the_standard_library

FILES = {
    "user": "/home/me/release.py",
    "library": outside.np_file(),
    "standard": os.__file__,
    "ours": outside.__file__,
}
READ, WRITE, BOTH = os.O_RDONLY, os.O_WRONLY, os.O_RDWR


def frame(*calls):
    """Return a frame of calls, the innermost first: whose code, of which module, in what."""
    inner = None
    for place, name, *function in reversed(calls):
        code = SimpleNamespace(co_filename=FILES[place], co_name=(function or ["f"])[0])
        inner = SimpleNamespace(f_code=code, f_globals={"__name__": name}, f_back=inner)
    return inner


USER, LIBRARY = ("user", "release"), ("library", "numpy.core")
OS, READER = ("standard", "os"), ("standard", "linecache")


@pytest.mark.parametrize(
    ("calls", "asks"),
    [
        ([USER], "user"),
        ([OS, USER], "user"),
        ([LIBRARY, USER], "library"),
        ([OS, LIBRARY, USER], "library"),
        ([USER, LIBRARY], "user"),
        ([OS], None),
        ([("ours", "dpaudit.a")], None),
        ([("ours", "dpaudit.a"), USER], None),
        ([("library", "numpy", "<module>"), USER], None),
        ([OS, ("library", "numpy", "<module>"), USER], None),
        ([("library", "mine.part", "<module>"), USER], "library"),
        ([("user", "release", "<module>")], "user"),
    ],
)
def test_whose_code_asks_is_the_innermost_that_is_not_the_standard_librarys(calls, asks):
    assert outside.who_asks(frame(*calls), {"mine"}) == asks


@pytest.mark.parametrize(
    ("calls", "reads", "own", "itself", "direct"),
    [
        ([USER], False, False, True, True),
        ([OS, USER], False, False, True, True),
        ([READER, USER], True, False, True, False),
        ([OS, READER, USER], True, False, True, False),
        ([USER, READER], False, False, True, True),
        ([LIBRARY, READER], False, False, True, False),
        ([OS, LIBRARY, USER], False, False, True, False),
        ([("library", "mine.part"), USER], False, True, True, False),
        ([("library", "dotenv.main"), USER], False, False, False, False),
        ([("standard", "importlib._bootstrap"), USER], True, False, True, False),
        ([], False, False, True, False),
    ],
)
def test_on_whose_behalf_something_is_read(calls, reads, own, itself, direct):
    one = frame(*calls)
    assert outside.reads_sources(one) is reads
    assert outside.is_own(one, {"mine"}) is own
    assert outside.is_for_itself(one) is itself
    assert outside.is_direct(one) is direct


@pytest.mark.parametrize(
    ("name", "calls", "usual"),
    [
        ("TMPDIR", [OS, ("standard", "tempfile"), USER], True),
        ("LC_ALL", [OS, ("standard", "locale"), USER], True),
        ("PYTHONPATH", [("standard", "site")], True),
        ("TMPDIR", [OS, USER], False),
        ("TMPDIR", [USER], False),
        ("TMPDIR", [OS, LIBRARY], False),
        ("NOISE", [OS, ("standard", "tempfile"), USER], False),
        ("NOISE", [OS], False),
        ("TMPDIR", [OS], True),
        ("MY_LC_ALL", [("standard", "locale")], False),
    ],
)
def test_a_variable_of_the_standard_librarys_own_is_no_outside(name, calls, usual):
    assert _of_the_standard_library(frame(*calls), name) is usual


@pytest.mark.parametrize(
    ("path", "is_out"),
    [
        ("/home/me/key.bin", True),
        ("/etc/machine-id", True),
        ("/etc/hostname", True),
        ("/proc/cpuinfo", True),
        ("/etc/localtime", False),
        ("/usr/share/zoneinfo/UTC", False),
        ("/dev/random", False),
        ("/home/me/__pycache__/a.pyc", False),
        ("/home/me/mine.egg-info/PKG-INFO", False),
        ("/home/me/mine.dist-info/METADATA", False),
        (os.__file__, False),
        (FILES["library"], False),
    ],
)
def test_what_everybody_has_is_no_outside(path, is_out):
    assert outside.is_outside(path) is is_out


def watched(tmp_path, *opened, calls=(USER,), name="a.txt", own=()):
    """Return what is noted where a file, that is there, is opened with flags."""
    (tmp_path / name).touch()
    watch = Watch(own)
    for flags in opened:
        watch._file(str(tmp_path / name), flags, frame(*calls))
    assert watch.opened == len(opened)
    return [(kind, os.path.basename(path)) for kind, path in watch.touches]


SEEN = [("file", "a.txt")]


@pytest.mark.parametrize(
    ("opened", "seen"),
    [
        ([READ], SEEN),
        ([BOTH], SEEN),
        ([BOTH | os.O_CREAT], SEEN),
        ([READ | os.O_CLOEXEC], SEEN),
        ([WRITE], []),
        ([WRITE | os.O_APPEND], []),
        ([BOTH | os.O_TRUNC], []),
        ([BOTH | os.O_CREAT | os.O_EXCL], []),
        ([WRITE | os.O_TRUNC, READ], []),  # which it made itself
        ([WRITE, READ], SEEN),
        ([READ, READ], SEEN),
    ],
)
def test_a_file_that_is_read_and_not_made_is_an_outside(tmp_path, opened, seen):
    assert watched(tmp_path, *opened) == seen


def test_a_file_of_another_call_is_an_outside_again(tmp_path):
    watch = Watch()
    (tmp_path / "a.txt").touch()
    watch._file(str(tmp_path / "a.txt"), WRITE | os.O_TRUNC, frame(USER))
    watch.begin_call()
    watch._file(str(tmp_path / "a.txt"), READ, frame(USER))
    assert len(watch.touches) == 1


def test_only_files_that_are_there_and_are_asked_for_are_an_outside(tmp_path):
    assert watched(tmp_path, READ, calls=(LIBRARY, USER)) == SEEN
    assert watched(tmp_path, READ, calls=(OS,)) == []
    assert watched(tmp_path, READ, calls=(("ours", "dpaudit.a"), USER)) == []
    assert watched(tmp_path, READ, name="a.py", calls=(READER, USER)) == []
    assert watched(tmp_path, READ, name="a.py") == [("file", "a.py")]
    assert watched(tmp_path, READ, calls=(READER, USER)) == SEEN
    watch = Watch()
    watch._file(str(tmp_path), READ, frame(USER))
    watch._file(str(tmp_path / "gone"), READ, frame(USER))
    watch._file(3, READ, frame(USER))
    assert not watch.touches


@pytest.mark.parametrize(
    ("asks", "kind", "calls", "counts"),
    [
        ("user", "file", [USER], True),
        ("user", "system", [USER], True),
        ("library", "file", [LIBRARY], False),
        ("library", "system", [LIBRARY], False),
        ("library", "system", [("library", "mine.a")], True),
        ("library", "file", [("library", "mine.a")], False),
        (None, "system", [OS], False),
    ],
)
def test_of_libraries_only_the_mechanisms_own_count(asks, kind, calls, counts):
    assert Watch({"mine"})._counts(asks, kind, frame(*calls)) is counts


@pytest.mark.parametrize(
    ("event", "given", "calls", "seen"),
    [
        ("open", ("a.txt", None, None), [USER], [("file", "a.txt")]),
        ("sqlite3.connect", ("a.txt",), [USER], [("file", "a.txt")]),
        ("sqlite3.connect", (":memory:",), [USER], []),
        ("mmap.__new__", (-1, 8), [USER], []),
        ("mmap.__new__", (3, 8), [USER], [("shared memory", "a mapped file")]),
        ("mmap.__new__", (3, 8), [OS], []),
        ("os.system", (b"ls",), [USER], [("process", "os.system")]),
        ("os.system", (b"ls",), [LIBRARY, USER], [("process", "os.system")]),
        ("os.system", (b"ls",), [OS], []),
        ("socket.connect", (None, 1), [USER], [("connection", "socket.connect")]),
        ("ctypes.dlopen", ("libm.so",), [USER], [("compiled code", "libm.so")]),
        ("ctypes.dlopen", ("libm.so",), [LIBRARY, USER], []),
        ("os.listdir", ("a.txt",), [USER], [("file", "a.txt")]),
        ("os.listdir", (None,), [USER], []),
        ("os.listdir", ("/usr/share/zoneinfo",), [USER], []),
        ("os.mkdir", ("a",), [USER], []),
    ],
)
def test_events_reach_out_in_their_own_way(tmp_path, monkeypatch, event, given, calls, seen):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").touch()
    watch = Watch()
    watch._take(event, given, frame(*calls))
    assert [(kind, os.path.basename(name)) for kind, name in watch.touches] == seen


def test_nothing_is_noted_while_it_is_off_and_no_more_than_a_hundred():
    watch = Watch()
    watch.heard("mmap.__new__", (3, 8))
    assert not watch.touches
    for n in range(150):
        watch.note("file", str(n))
    assert list(watch.touches) == [("file", str(n)) for n in range(100)]
