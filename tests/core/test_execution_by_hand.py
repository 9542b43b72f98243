"""Shares, chunks, files of calls and assigned values, each on a case that is worked out by hand."""

from __future__ import annotations

import linecache
import os
import pickle
import socket
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.errors import InvalidArgument
from dpaudit.execution import plan_units
from dpaudit.execution.backends import ChunkResults, _Chunks
from dpaudit.execution.executor import ShareDrawn, _draw_share, _fill_kept_stage
from dpaudit.execution.shipping import _read_pickled_texts
from dpaudit.execution.value_origin import is_worked_out
from dpaudit.execution.worker import Files, _receive_bytes

STAGE = SimpleNamespace(shown="drawing")


class Kept:
    """Results by their places, of which some are there."""

    def __init__(self, *places):
        self.results = {place: f"old {place}" for place in places}
        self.there = frozenset(places)

    def load(self, place):
        return self.results[place]

    def keep(self, places, results):
        self.results.update(zip(places, results, strict=True))


def computed_in_twos(asked):
    """Return a run that tells of what it was asked for, and computes two at a time."""

    def run(places, arrived):
        asked.extend(places)
        for first in range(0, len(places), 2):
            made = [f"new {place}" for place in places[first : first + 2]]
            arrived(first, made)
            yield made

    return run


@pytest.mark.parametrize(
    ("shard", "there", "drawn", "missing"),
    [
        ((1, 3), (), [0, 3, 6], 4),
        ((2, 3), (), [1, 4], 5),
        ((3, 3), (), [2, 5], 5),
        ((1, 3), (3,), [0, 6], 4),
        ((1, 3), (1, 2), [0, 3, 6], 2),
        ((0, 3), (), [], 7),
        ((2, 3), (0, 2, 3, 5, 6), [1, 4], 0),
        ((1, 1), (), [0, 1, 2, 3, 4, 5, 6], 0),
    ],
)
def test_a_share_is_every_nth_unit_from_its_own_number_on(shard, there, drawn, missing):
    kept, asked = Kept(*there), []
    units, run = [None] * 7, computed_in_twos(asked)
    if missing:
        with pytest.raises(ShareDrawn) as told:
            _draw_share(kept, shard, units, STAGE, run)
        own = [place for place in range(7) if shard[0] and place % shard[1] == shard[0] - 1]
        assert (told.value.units, told.value.missing) == (len(own), missing)
    else:
        _draw_share(kept, shard, units, STAGE, run)
    assert asked == drawn
    assert kept.results == {
        **{place: f"old {place}" for place in there}, **{place: f"new {place}" for place in drawn},
    }  # fmt: skip
    with pytest.raises(InvalidArgument, match="shard"):
        _draw_share(None, shard, units, STAGE, run)


@pytest.mark.parametrize("there", [(), (0,), (1, 2), (4,), (0, 1, 2, 3, 4)])
def test_what_is_kept_and_what_is_computed_come_in_the_order_of_the_plan(there):
    kept, asked = Kept(*there), []
    found = [one for part in _fill_kept_stage(kept, 5, computed_in_twos(asked)) for one in part]
    assert found == [f"{'old' if place in there else 'new'} {place}" for place in range(5)]
    assert asked == [place for place in range(5) if place not in there]
    assert list(map(kept.load, range(5))) == found
    alone = [one for part in _fill_kept_stage(None, 5, computed_in_twos([])) for one in part]
    assert alone == [f"new {place}" for place in range(5)]


def computed(seconds, results):
    return ChunkResults(0, results, None, seconds, "w", ())


@pytest.mark.parametrize(
    ("seconds", "units", "worth"),
    [(0.5, 5, 10), (2.0, 1, 1), (0.1, 10, 100), (0.0, 3, 1), (1e-9, 1, 4096), (3.0, 0, 1)],
)
def test_a_chunk_is_worth_about_a_second_at_the_pace_of_one_unit(seconds, units, worth):
    chunks = _Chunks([plan_units(9, 1, np.random.SeedSequence(1))], fresh=False)
    chunks.came(computed(seconds, [1.0] * units))
    assert chunks._worth() == worth


def test_chunks_cover_every_unit_of_every_hand_once():
    hands = [plan_units(count, 1, np.random.SeedSequence(count)) for count in (5, 2, 4)]
    chunks = _Chunks(hands, fresh=True)
    chunks.came(computed(1.0, [1.0] * 3))
    made = list(chunks.next())
    assert [(first, len(units), hand) for first, units, hand in made] == [
        (0, 3, 0), (3, 2, 0), (5, 2, 1), (7, 3, 2), (10, 1, 2),
    ]  # fmt: skip
    assert [hand for *_, hand in _Chunks(hands[:1], fresh=False).next()] == [-1] * 5
    assert next(_Chunks([[], hands[1]], fresh=False).next())[0] == 0


def test_nothing_more_is_asked_for_while_too_much_waits(monkeypatch):
    monkeypatch.setattr("dpaudit.execution.backends._HELD", 1000)
    chunks = _Chunks([plan_units(9, 1, np.random.SeedSequence(1))], fresh=False)
    large = [np.zeros(500)]
    chunks.came(computed(9.0, large))
    assert list(chunks.next()) == []
    chunks.taken(large)
    assert len(list(chunks.next())) == 9


# Files that one call leaves and another reads


READ, WRITE, BOTH = os.O_RDONLY, os.O_WRONLY, os.O_RDWR


@pytest.mark.parametrize(
    ("flags", "wrote", "read"),
    [
        ([READ], False, True),
        ([WRITE | os.O_CREAT], True, False),
        ([WRITE | os.O_CREAT | os.O_TRUNC], True, False),
        ([BOTH], True, True),
        ([BOTH | os.O_CREAT | os.O_TRUNC], True, False),
        ([BOTH | os.O_CREAT | os.O_EXCL], True, False),
        ([WRITE | os.O_TRUNC, READ], True, False),  # its own
        ([WRITE | os.O_APPEND, READ], True, True),
        ([READ, WRITE | os.O_TRUNC], True, True),
    ],
)
def test_a_call_reads_what_it_did_not_make(flags, wrote, read):
    files = Files()
    for one in flags:
        files.heard("open", ("/home/me/a.txt", None, one))
    assert files.wrote == ({"/home/me/a.txt"} if wrote else set())
    assert files.read == ({"/home/me/a.txt"} if read else set())


def test_what_an_earlier_call_made_is_read_by_the_next():
    files = Files()
    files.heard("open", ("/home/me/a.txt", None, WRITE | os.O_TRUNC))
    files.begin_call()
    files.heard("open", (b"/home/me/a.txt", None, None))
    assert files.read == files.wrote == {"/home/me/a.txt"}


@pytest.mark.parametrize(
    "name", [np.__file__, "/proc/self/io", "/dev/null", "/home/me/__pycache__/a.pyc", "/tmp", 3]
)
def test_files_of_libraries_and_devices_and_folders_are_no_state(name):
    files = Files()
    files.heard("open", (name, None, BOTH))
    assert not files.wrote
    assert not files.read


# What source assigns


SOURCE = """
import numpy as np
SCALE = 2.0
NOISE = np.random.default_rng(1)
AGAIN = NOISE

def release(data, one=SCALE, two=NOISE, three=AGAIN, *, four=AGAIN, five=SCALE, six):
    return data

def other(x, /, seven=3, *, eight=np.zeros(2)):
    return x
"""


@pytest.fixture(scope="module")
def code():
    held = {}
    exec(compile(SOURCE, "<source of a test>", "exec"), held)
    linecache.cache["<source of a test>"] = (len(SOURCE), None, SOURCE.splitlines(True), "")
    yield held["release"]
    linecache.cache.pop("<source of a test>")


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("SCALE", False), ("NOISE", True), ("AGAIN", True),
        ("one", False), ("two", True), ("three", True), ("four", True), ("five", False),
        ("seven", False), ("eight", True),
    ],
)  # fmt: skip
def test_a_default_is_that_of_its_own_parameter(code, name, called):
    assert is_worked_out(name, code, unless_seen=not called) is called


@pytest.mark.parametrize("unless", [True, False])
def test_what_no_source_assigns_is_what_was_said(code, unless):
    for name in ("six", "data", "nobody"):
        assert is_worked_out(name, code, unless_seen=unless) is unless


# Text in pickles


@pytest.mark.parametrize("protocol", range(5))
def test_words_of_a_pickle_are_its_texts_and_names(protocol):
    given = {"a": ["text", 7, 2**70, 1.5, True, pickle.dumps("inner")], "f": len}
    found = set(_read_pickled_texts(pickle.dumps(given, protocol)))
    assert {"a", "text", "f", "len"} <= found
    assert ("inner" in found) is (protocol >= 3)  # earlier ones have no bytes
    assert not found & {"7", "1.5", str(2**70), "True"}


def test_bytes_come_whole_and_none_of_them_where_the_channel_has_ended():
    here, there = socket.socketpair()
    with here, there:
        there.sendall(b"0123456789")
        assert bytes(_receive_bytes(here, 4)) == b"0123"
        assert bytes(_receive_bytes(here, 0)) == b""
        assert bytes(_receive_bytes(here, 3)) == b"456"
        there.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionError, match="within a message"):
            _receive_bytes(here, 9)
        assert _receive_bytes(here, 1) is None
