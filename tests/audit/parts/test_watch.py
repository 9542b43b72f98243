"""Lines of a stream that is watched: what each says, which are left out, and when bets begin."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.auditing.distinguishers.learned_scores import ONE_PART
from dpaudit.auditing.samples import stream
from dpaudit.auditing.samples.stream import StreamWatch, read_numbered_lines
from dpaudit.errors import DataError
from dpaudit.estimation.sequential.game import PILOT, BettingTarget
from dpaudit.neighbours import Side

BOTH = Side.DATASET, Side.NEIGHBOUR


@pytest.mark.parametrize(
    ("line", "side", "numbers"),
    [
        ("dataset,1.5", 0, [1.5]),
        (" 0 , 1e3,-2 ", 0, [1000.0, -2.0]),
        ("Neighbour,.5", 1, [0.5]),
        ("1,0.1,0.30", 1, [0.1, 0.3]),
        ("1,0.10000000000000001", 1, [0.1]),
        ("0,9007199254740992", 0, [2.0**53]),
        ("0,1e-320", 0, [1e-320]),
    ],
)
def test_a_line_is_a_side_and_numbers(line, side, numbers):
    assert stream._NumberLines().output(3, line) == (BOTH[side], numbers)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("2,1.5", "expected dataset or neighbour"),
        ("dataset", "got no number"),
        ("0,", "expected dataset or neighbour"),
        ("0,1_000", "expected dataset or neighbour"),
        ("0,nan", "never NaN or infinite"),
        ("0,1.5,-inf", "never NaN or infinite"),
        ("0,9007199254740993", "all the digits written"),
        ("0,0.1000000000000000001", "all the digits written"),
    ],
)
def test_what_is_no_side_or_no_double_is_refused_with_its_line(line, said):
    lines = stream._NumberLines()
    lines.output(1, "side,value")  # a header
    with pytest.raises(DataError, match=f"^line 12: .*{said}"):
        lines.output(12, line)


@pytest.mark.parametrize(
    ("fields", "is_header"),
    [
        (["side", "value"], True),
        (["side", "1.5"], False),
        (["side"], False),
        (["dataset", "value"], False),
        (["1", "value"], False),
        (["", "x", "y"], True),
        (["5", "value"], False),
    ],
)
def test_a_header_has_no_side_and_no_number(fields, is_header):
    assert stream._is_header(fields) is is_header


def test_a_header_comes_first_and_all_lines_have_as_many_numbers():
    lines = stream._NumberLines()
    assert lines.output(1, "side, one, two") is None
    assert lines.output(2, "0,1,2") == (Side.DATASET, [1.0, 2.0])
    assert lines.size == 2
    for odd, said in (
        ("0,1", "got 1 numbers, expected 2"),
        ("1,1,2,3", "got 3 numbers, expected 2"),
    ):
        with pytest.raises(DataError, match=said):
            lines.output(3, odd)
    with pytest.raises(DataError, match="line 4"):
        lines.output(4, "side, one, two")
    assert lines.rows([[1.0, 2.0], [3.0, 4.0]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"dataset": 0.5}', (Side.DATASET, 0.5)),
        ('{" Neighbour ": {"a": null}}', (Side.NEIGHBOUR, {"a": None})),
        ('{"1": [1, "x"]}', (Side.NEIGHBOUR, [1, "x"])),
    ],
)
def test_an_object_has_a_side_and_any_output(line, found):
    assert stream._Json().output(1, line) == found


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"0": {"a": 1, "a": 2}}', "no JSON"),
        ("[1]", "no such object"),
        ("{}", "no such object"),
        ('{"0": 1, "1": 2}', "no such object"),
        ('{"left": 1}', "an object with a side"),
    ],
)
def test_other_objects_are_refused(line, said):
    with pytest.raises(DataError, match=f"^line 7: .*{said}"):
        stream._Json().output(7, line)


def test_an_output_is_as_large_as_its_longest_line():
    lines = stream._Json()
    for length, size in ((40, 5), (80, 10), (16, 10)):
        text = '{"0": "' + "x" * (length - 9) + '"}'
        assert len(text) == length
        lines.output(1, text)
        assert lines.size == size


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([], []),
        ([b""], [[]]),
        ([b"a\nb\n"], [[(1, "a"), (2, "b")]]),
        ([b"a\n", b"b"], [[(1, "a")], [], [(2, "b")]]),
        ([b"\n\nc", b"c\nd"], [[(1, ""), (2, "")], [(3, "cc")], [(4, "d")]]),
        ([b"\xef\xbb\xbfa\n", b"\xff"], [[(1, "a")], [], [(2, "\ufffd")]]),
    ],
)
def test_lines_are_numbered_as_they_are_completed(chunks, lines):
    assert list(read_numbered_lines(chunks)) == lines


def test_a_line_without_an_end_is_refused(monkeypatch):
    monkeypatch.setattr(stream, "_LONGEST_LINE", 8)
    assert list(read_numbered_lines([b"a\n12345678"])) == [[(1, "a")], [(2, "12345678")]]
    with pytest.raises(DataError, match=r"^line 2: "):
        list(read_numbered_lines([b"a\n", b"12345", b"6789"]))


class Betting:
    """A bettor that notes what it was fed, and refutes after so many pairs."""

    def __init__(self, enough=10**9):
        self.pairs, self.fed, self.enough, self.refuted_after = 0, [], enough, 0

    def feed(self, on_p, on_q):
        self.fed.append((on_p.tolist(), on_q.tolist()))
        self.pairs += len(on_p)
        self.refuted_after = self.pairs if self.pairs >= self.enough else 0


def watch_of(**given):
    found = StreamWatch(BettingTarget(1.0, 0.0, 0.05))
    found.bettor = Betting(**given)
    return found


def test_outputs_are_bet_on_with_those_of_the_other_side_in_their_order():
    found = watch_of(enough=3)
    lines = ["0,1", "0,2", "", "  ", "1,10", "0,3"]
    assert not found.take(enumerate(lines, start=1))
    assert found.bettor.fed == [([[1.0]], [[10.0]])]
    assert (found.waiting, found.left_out) == (2, 0)
    assert found.outputs == {Side.DATASET: 3, Side.NEIGHBOUR: 1}
    assert found.take([(7, "1,20"), (8, "1,30")])
    assert found.bettor.fed[1] == ([[2.0], [3.0]], [[20.0], [30.0]])
    assert found.waiting == 0
    with pytest.raises(DataError, match="line 10"):
        found.take([(9, "0,4"), (10, "x,1"), (11, "1,40")])
    assert found.waiting == 1
    assert found.take([(12, "1,50")])
    assert found.bettor.fed[2] == ([[4.0]], [[50.0]])  # what stood before the line counts


def test_what_waits_too_long_is_left_out_and_counted(monkeypatch):
    monkeypatch.setattr(stream, "PILOT", 2)
    monkeypatch.setattr(stream, "_MOST_WAITING", 12)
    found = watch_of()
    found.take((n, f"0,{n},0") for n in range(1, 10))
    assert (found.waiting, found.left_out) == (6, 3)  # of two numbers: 12 of them
    assert found.outputs[Side.DATASET] == 9
    wide = watch_of()
    wide.take((n, "1" + ",0" * 50) for n in range(1, 10))
    assert (wide.waiting, wide.left_out) == (4, 5)  # two pilots in any case


def test_of_objects_nothing_is_bet_on_before_a_layout_is_made(monkeypatch):
    laid = []

    def layout_of(sides):
        laid.append([len(one) for one in sides])
        return SimpleNamespace(rows=lambda outputs, count: np.full((count, 1), float(len(outputs))))

    monkeypatch.setattr(stream, "layout_of", layout_of)
    found = watch_of()
    assert found.least == 1
    first = [f'{{"{n % 2}": {{"a": {n}}}}}' for n in range(63)]
    found.take(enumerate(first, start=1))
    assert (found.least, found.view) == (32, "what each line holds, in parts")
    assert (found.bettor.fed, laid, found.waiting) == ([], [], 32)
    found.take([(64, '{"1": {"a": 1}}'), (65, '{"1": {"a": 1}}')])
    assert laid == [[32, 32]]
    ((on_p, on_q),) = found.bettor.fed
    assert (len(on_p), len(on_q), found.waiting) == (32, 32, 1)
    found.take([(66, '{"0": {"a": 1}}')])
    assert len(found.bettor.fed) == 2
    assert PILOT >= 32


@pytest.mark.parametrize(("attack", "parts"), [(None, True), ("linear-discriminant", False)])
def test_parts_are_looked_at_where_no_attack_is_named(attack, parts):
    found = StreamWatch(BettingTarget(1.0, 0.0, 0.05), attack)
    found.bettor = Betting()
    lines = [f'{{"{n % 2}": {{"a": {n}.5, "b": {n % 3}.25}}}}' for n in range(64)]
    found.take(enumerate(lines, start=1))
    assert (ONE_PART in found.distinguishers) is parts
    plain = StreamWatch(BettingTarget(1.0, 0.0, 0.05))
    plain.bettor = Betting()
    plain.take(enumerate(["0,1", "1,2"], start=1))
    assert ONE_PART not in plain.distinguishers


def test_each_time_attacks_learn_with_randomness_of_its_own(monkeypatch):
    drawn = []

    def fitted(distinguishers, mechanism, pair, on_p, on_q, rng):
        drawn.append(rng.random())
        return []

    monkeypatch.setattr(stream, "fit_scores_in_order", fitted)
    for seed in (0, 0, 1):
        found = StreamWatch(BettingTarget(1.0, 0.0, 0.05), seed=seed)
        for _ in range(2):
            found._fitted(np.zeros((2, 1)), np.zeros((2, 1)))
    assert drawn[:2] == drawn[2:4]
    assert len(set(drawn)) == 4
