"""Ten of each: writers side by side, full disks, places nobody can write, damage, shares."""

import contextlib
import os
import random
import socket
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from dpaudit.execution import Executor, plan_units
from dpaudit.execution.units import stream
from dpaudit.store.catalogue import (
    StoreAdditions,
    list_store_entries,
    merge_stores,
    remove_ended_audits,
)
from dpaudit.store.file import Store, StoreError
from dpaudit.store.keeping import NotKept, Storing, keep_audit, use_storing

UNITS = plan_units(16_000, size=1000, seed=stream(0, "hardships"))
TEN = range(10)
CACHE = {"at_once": False, "in_the_end": False, "for_a_while": True}


class Drawing:
    """Draws units, stops at one if it is told to, and counts."""

    __identity__ = "drawing"

    def __init__(self, fails_at=None, before=lambda unit: None):
        self.drawn, self.fails_at, self.before = 0, fails_at, before

    def __call__(self, unit):
        if self.drawn == self.fails_at:
            raise KeyboardInterrupt
        self.before(unit)
        self.drawn += 1
        return unit.generator().random(unit.trials)


WHOLE = np.concatenate([Drawing()(unit) for unit in UNITS])


def run(path, task=None, name="one", **where):
    with use_storing(Storing(path, **where)), keep_audit(name) as ledger:
        found = list(Executor().map(task or Drawing(), UNITS, "drawing"))
        ledger.fact("size", lambda: 7)
        ledger.end()
    return np.concatenate(found)


def intact(path):
    with Store(path) as store:
        assert store.run("PRAGMA integrity_check") == [("ok",)]
        return [one.units for one in list_store_entries(store)]


# Two writers


@pytest.mark.parametrize("seed", TEN)
def test_writers_beside_one_another_keep_everything_once(tmp_path, seed):
    rng = random.Random(seed)
    names = ["one", rng.choice(["one", "two"]), *rng.sample(["one", "two", "three"], seed % 3)]
    gate, found = threading.Barrier(len(names)), [None] * len(names)

    def write(number, name, pauses):
        task = Drawing(before=lambda unit: pauses.wait(rng.random() * 0.004))
        gate.wait()
        found[number] = run(tmp_path / "store", task, name)

    threads = [
        threading.Thread(target=write, args=(number, name, threading.Event()))
        for number, name in enumerate(names)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert all(np.array_equal(one, WHOLE) for one in found)
    assert intact(tmp_path / "store") == [len(UNITS)] * len({*names})
    again = Drawing()
    run(tmp_path / "store", again)
    assert again.drawn == 0


PROGRAM = """
import sys
from pathlib import Path
from store.test_hardships import Drawing, WHOLE, run
import numpy as np, time
task = Drawing(before=lambda unit: time.sleep(0.01))
assert np.array_equal(run(Path(sys.argv[1]), task, sys.argv[2]), WHOLE)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", TEN)
def test_programs_beside_one_another_keep_everything_once(tmp_path, seed):
    tests = os.path.dirname(os.path.dirname(__file__))
    names = ["one", "one", "two"] if seed % 2 else ["one", "two"]
    environment = os.environ | {"PYTHONPATH": tests}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "store")]
    programs = [subprocess.Popen([*command, name], env=environment) for name in names]
    assert [one.wait() for one in programs] == [0] * len(names)
    assert intact(tmp_path / "store") == [len(UNITS)] * 2


@pytest.mark.parametrize("seed", range(3))
def test_who_forgets_beside_a_writer_takes_only_what_ended(tmp_path, seed):
    path = tmp_path / "store"
    run(path, name="another")

    def forget(unit):
        if unit.seed.spawn_key[-1] % (2 + seed) == 1:
            with Store(path) as store:
                remove_ended_audits(store)

    assert np.array_equal(run(path, Drawing(before=forget)), WHOLE)
    assert intact(path) == [len(UNITS)]


# A full disk


@pytest.mark.parametrize("pages", [9, 12, 14, 16, 18, 22, 26, 30, 34, 38])
@pytest.mark.parametrize("where", [{}, CACHE], ids=["named", "cache"])
def test_a_disk_that_becomes_full_ends_only_the_keeping(tmp_path, monkeypatch, pages, where):
    monkeypatch.setattr("dpaudit.store.keeping._WORTH", 0.0)
    path, opened = tmp_path / "store", Store._open

    def small(store):
        opened(store)
        store.run(f"PRAGMA max_page_count={pages}")

    with monkeypatch.context() as full:
        full.setattr(Store, "_open", small)
        with pytest.warns(NotKept, match=r"store .*: the disk is full; make room.*is not kept"):
            assert np.array_equal(run(path, **where), WHOLE)
    (before,) = intact(path)
    assert before < len(UNITS)
    again = Drawing()  # there is room now
    assert np.array_equal(run(path, again, **where), WHOLE)
    assert again.drawn == len(UNITS) - before


LIMITED = """
import resource, signal, sys, warnings
from pathlib import Path
from store.test_hardships import WHOLE, run
import numpy as np
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (90_000, resource.RLIM_INFINITY))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    assert np.array_equal(run(Path(sys.argv[1])), WHOLE)
assert [str(one.message) for one in said if sys.argv[1] in str(one.message)]
"""


def test_a_file_that_the_system_stops_ends_only_the_keeping(tmp_path):
    environment = os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(__file__))}
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "store")]
    subprocess.run(command, env=environment, check=True)
    (before,) = intact(tmp_path / "store")
    assert before < len(UNITS)
    assert np.array_equal(run(tmp_path / "store"), WHOLE)


# Places that cannot be written, by whoever it is


def loop(folder):
    (folder / "there").symlink_to(folder / "here")
    (folder / "here").symlink_to(folder / "there")
    return folder / "here"


def below_a_file(folder):
    (folder / "file").write_text("x")
    return folder / "file" / "store"


def pipe(folder):
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def of_a_socket(folder):
    with contextlib.chdir(folder), socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
    return folder / "socket"


def link_to_nowhere(folder):
    (folder / "link").symlink_to(folder / "none" / "store")
    return folder / "link"


def link_to_a_folder(folder):
    (folder / "link").symlink_to(folder)
    return folder / "link"


def read_only(folder):
    Store(folder / "store").close()
    (folder / "store").chmod(0o400)
    return folder / "store"


def in_a_read_only_folder(folder):
    (folder / "inner").mkdir(mode=0o500)
    return folder / "inner" / "store"


PLACES = {
    "a folder": lambda folder: folder,
    "a loop of links": loop,
    "below a file": below_a_file,
    "a pipe": pipe,
    "a socket": of_a_socket,
    "a link to nowhere": link_to_nowhere,
    "a link to a folder": link_to_a_folder,
    "a long name": lambda folder: folder / ("x" * 300),
    "a device": lambda folder: Path("/dev/full"),
    "what the system makes up": lambda folder: Path("/proc/self/store"),
    "a file that is read": read_only,
    "a folder that is read": in_a_read_only_folder,
}
FOR_OTHERS = {"a file that is read", "a folder that is read"}


@pytest.fixture
def place(tmp_path, request):
    if request.param in FOR_OTHERS and os.geteuid() == 0:
        pytest.skip("root may write anything")
    yield PLACES[request.param](tmp_path)
    for one in tmp_path.iterdir():
        if one.is_dir() and not one.is_symlink():
            one.chmod(0o700)


@pytest.mark.parametrize("place", PLACES, indirect=True)
def test_a_place_that_cannot_be_written_is_named_in_one_line(place):
    with pytest.raises(StoreError) as caught:
        run(place)
    assert str(caught.value).startswith(f"store {place}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", PLACES, indirect=True)
def test_a_cache_that_cannot_be_written_only_warns(place, monkeypatch):
    monkeypatch.setattr("dpaudit.store.keeping._WORTH", 0.0)
    with pytest.warns(NotKept) as said:
        assert np.array_equal(run(place, **CACHE), WHOLE)
    assert [str(place) in str(one.message) for one in said] == [True]


# Damage


def zeros(data, rng):
    start = rng.randrange(0, len(data) // 4096) * 4096
    return data[:start] + bytes(4096) + data[start + 4096 :]


def noise(data, rng):
    start = rng.randrange(0, len(data) // 4096) * 4096
    return data[:start] + rng.randbytes(4096) + data[start + 4096 :]


def bits(data, rng):
    turned = bytearray(data)
    for _ in range(40):
        turned[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(turned)


def cut(data, rng):
    return data[: rng.randrange(1, len(data))]


def swapped(data, rng):
    pages = [data[i : i + 4096] for i in range(0, len(data), 4096)]
    one, other = rng.sample(range(1, len(pages)), 2)
    pages[one], pages[other] = pages[other], pages[one]
    return b"".join(pages)


DAMAGE = (zeros, noise, bits, cut, swapped)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """Return the bytes of a store of an audit that was interrupted after twelve units."""
    path = tmp_path_factory.mktemp("whole") / "store"
    with pytest.raises(KeyboardInterrupt):
        run(path, Drawing(12))
    return path.read_bytes()


SEEDS = [
    pytest.param(seed, marks=[pytest.mark.slow] if seed >= len(TEN) else []) for seed in range(100)
]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("damage", DAMAGE)
def test_of_a_damaged_store_nothing_is_made_up(tmp_path, interrupted, damage, seed):
    path = tmp_path / "store"
    path.write_bytes(damage(interrupted, random.Random(seed)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotKept)
        found, said = attempted(lambda: run(path))
    assert (said.startswith(f"store {path}: ") and "\n" not in said) != (found is not None)
    assert found is None or np.array_equal(found, WHOLE)


def attempted(do):
    """Return a result, or else what a store says that refuses."""
    try:
        return do(), ""
    except StoreError as error:
        return None, str(error)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_cache_only_warns(tmp_path, monkeypatch, interrupted, damage, seed):
    monkeypatch.setattr("dpaudit.store.keeping._WORTH", 0.0)
    path = tmp_path / "store"
    path.write_bytes(damage(interrupted, random.Random(seed)))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert np.array_equal(run(path, **CACHE), WHOLE)
    assert all(str(path) in str(one.message) for one in said)
    assert len(said) <= 1


# Shares


def share(path, places, name="one"):
    """Keep some units' results of an audit, as a share of it does."""
    with use_storing(Storing(path)), keep_audit(name) as ledger:
        stage = ledger.stage(Drawing(), UNITS, "drawing")
        stage.keep(places, [Drawing()(UNITS[place]) for place in places])
        ledger.fact("size", lambda: 7)
    return path


@pytest.mark.parametrize("seed", TEN)
def test_shares_that_overlap_and_are_somebody_elses_make_the_whole(tmp_path, seed):
    rng = random.Random(seed)
    parts = [rng.sample(range(len(UNITS)), rng.randrange(1, len(UNITS))) for _ in range(4)]
    missing = set(range(len(UNITS))).difference(*parts)
    shares = [share(tmp_path / f"share {n}", part) for n, part in enumerate(parts)]
    shares += [share(tmp_path / f"foreign {n}", [n, 15 - n], f"foreign {n}") for n in range(2)]
    rng.shuffle(shares)
    with contextlib.ExitStack() as stack:
        into, *others = (stack.enter_context(Store(one)) for one in (tmp_path / "all", *shares))
        assert merge_stores(into, others) == StoreAdditions(3, len(UNITS) - len(missing) + 4)
        assert merge_stores(into, others) == StoreAdditions(0, 0)
    again = Drawing()
    assert np.array_equal(run(tmp_path / "all", again), WHOLE)
    assert again.drawn == len(missing)


@pytest.mark.parametrize("seed", TEN)
def test_two_shares_that_differ_at_one_place_are_never_merged(tmp_path, seed):
    place = seed % len(UNITS)
    into, other = share(tmp_path / "into", [place]), tmp_path / "other"
    with use_storing(Storing(other)), keep_audit("one") as ledger:
        stage = ledger.stage(Drawing(), UNITS, "drawing")
        stage.keep([place], [np.nextafter(Drawing()(UNITS[place]), np.inf)])
    with Store(into) as target, Store(other) as one:
        with pytest.raises(StoreError) as refused:
            merge_stores(target, [one])
        assert str(into) in str(refused.value)
        assert str(other) in str(refused.value)
    assert intact(into)


@pytest.mark.parametrize("seed", TEN)
def test_of_a_damaged_share_nothing_is_merged_but_what_is_whole(tmp_path, interrupted, seed):
    damage = DAMAGE[seed % len(DAMAGE)]
    other, into = tmp_path / "damaged", share(tmp_path / "into", [0, 1])
    other.write_bytes(damage(interrupted, random.Random(seed)))

    def merged():
        with Store(into) as target, Store(other) as one:
            return merge_stores(target, [one])

    found, said = attempted(merged)
    assert said.startswith(f"store {other}: ") != (found is not None)
    assert intact(into)
    with contextlib.suppress(StoreError):  # it names a block that was damaged there
        assert np.array_equal(run(into), WHOLE)


def test_a_file_that_another_program_begins_meanwhile_is_a_store(tmp_path, monkeypatch):
    path, asked, opened = tmp_path / "store", Store._pragma, []

    def pragma(store, name):
        found = asked(store, name)
        if not opened:
            opened.append(True)
            Store(path).close()  # another program, between two questions
        return found

    monkeypatch.setattr(Store, "_pragma", pragma)
    assert np.array_equal(run(path), WHOLE)
