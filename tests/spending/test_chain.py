"""The lines of a file: cut anywhere, changed anywhere, moved, doubled or lost."""

from __future__ import annotations

import json

import pytest

from dpaudit import Budget
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.spending.chain import read_chain


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("spending") / "budget.jsonl"
    budget = Budget.create(path, epsilon=3.0, delta=1e-6, partition="regions")
    budget.charge("gaussian", sigma=9, by="anna", about='counts ,"charged_at":')
    budget.charge("laplace", noise_scale=50, groups=["north"])
    budget.charge("gaussian", sigma=7, by="ben")
    return path.read_bytes()


def lines_of(content):
    return content.splitlines(keepends=True)


def test_a_file_is_read_as_it_was_written(content):
    chain = read_chain(content, "budget.jsonl")
    assert [entry.by for entry in chain.entries] == ["anna", None, "ben"]
    assert chain.entries[1].groups == ("north",)
    assert chain.size == len(content)
    assert not chain.torn.pieces


def test_a_cut_anywhere_loses_nothing_that_was_whole(content, tmp_path):
    """A line cut short counts if what it charges can be read, and else nothing can be added."""
    ends = [len(b"".join(lines_of(content)[:k])) for k in range(1, 5)]
    blocked = counted = 0
    for cut in range(ends[2], ends[3]):
        chain = read_chain(content[:cut], "budget.jsonl")
        assert [entry.number for entry in chain.entries[:2]] == [1, 2]
        if cut == ends[2]:
            assert not chain.torn.pieces
            assert len(chain.charged) == 2
        elif cut == ends[3] - 1:
            assert len(chain.entries) == 3
            assert chain.lacks_end
        elif chain.torn.is_read:
            counted += 1
            assert chain.charged[2].release[0]["noise_scale"] == 7
        else:
            blocked += 1
            assert chain.torn.pieces
    assert counted > 200
    assert blocked > 50


def test_an_addition_after_a_cut_keeps_what_counted(content, tmp_path):
    ends = [len(b"".join(lines_of(content)[:k])) for k in range(1, 5)]
    path = tmp_path / "budget.jsonl"
    for cut in (ends[3] - 1, ends[3] - 40, ends[3] - 150):
        path.write_bytes(content[:cut])
        charge = Budget(path).charge("gaussian", sigma=11)
        chain = Budget(path).verify()
        assert [one.release[0].get("noise_scale") for one in chain.entries] == [9, 50, 7, 11]
        assert charge.entry.number == 4
        assert (chain.entries[2].torn is None) == (cut == ends[3] - 1)


def test_a_line_that_nobody_can_read_is_mended_by_hand(content, tmp_path):
    path = tmp_path / "budget.jsonl"
    cut = len(b"".join(lines_of(content)[:3])) + 5
    for release, numbers in ((None, [9, 50, None, 11]), ("gaussian", [9, 50, 7, 11])):
        path.write_bytes(content[:cut])
        with pytest.raises(DataError, match="state what it was"):
            Budget(path).charge("gaussian", sigma=11)
        Budget(path).mend(release, **({} if release is None else {"sigma": 7}))
        Budget(path).charge("gaussian", sigma=11)
        chain = Budget(path).verify()
        found = [one.release[0]["noise_scale"] if one.release else None for one in chain.entries]
        assert found == numbers
    with pytest.raises(DataError, match="needs no mending"):
        Budget(path).mend(None)


def test_a_changed_byte_is_seen(content):
    length = len(lines_of(content)[0]) + len(lines_of(content)[1])
    for place in range(0, length, 7):
        changed = bytearray(content)
        changed[place] ^= 0x01
        with pytest.raises(DataError, match=r"budget\.jsonl: "):
            read_chain(bytes(changed), "budget.jsonl")


@pytest.mark.parametrize(
    "order",
    [(0, 2, 3), (0, 1, 3), (0, 2, 1, 3), (0, 1, 1, 2, 3), (0, 1, 2, 2), (1, 2, 3), (0, 0, 1)],
)
def test_lines_that_are_lost_moved_or_doubled_are_seen(content, order):
    lines = lines_of(content)
    with pytest.raises(DataError, match="budget"):
        read_chain(b"".join(lines[place] for place in order), "budget.jsonl")


def test_two_copies_that_were_merged_are_seen(content, tmp_path):
    path = tmp_path / "budget.jsonl"
    path.write_bytes(content)
    Budget(path).charge("gaussian", sigma=13)
    other = tmp_path / "other.jsonl"
    other.write_bytes(content)
    Budget(other).charge("gaussian", sigma=17)
    merged = path.read_bytes() + lines_of(other.read_bytes())[-1]
    with pytest.raises(DataError, match="does not follow the line before it"):
        read_chain(merged, "budget.jsonl")


def test_a_number_edited_by_hand_is_seen(content):
    lines = lines_of(content)
    document = json.loads(lines[1])
    document["release"][0]["noise_scale"] = 900.0
    edited = json.dumps(document, separators=(",", ":")).encode() + b"\n"
    with pytest.raises(DataError, match="line 2 was changed after it was written"):
        read_chain(b"".join([lines[0], edited, *lines[2:]]), "budget.jsonl")


def test_lines_lost_from_the_end_show_by_a_digest_kept_elsewhere(content, tmp_path):
    path = tmp_path / "budget.jsonl"
    path.write_bytes(content)
    head = Budget(path).read().head
    Budget(path).verify(head[:12])
    path.write_bytes(b"".join(lines_of(content)[:-1]))
    Budget(path).verify()
    with pytest.raises(DataError, match="lines of it are lost from its end"):
        Budget(path).verify(head)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "no whole first line"),
        (b"epsilon,delta\n1,0\n", "no whole first line"),
        (b'{"schema":1', "no whole first line"),
    ],
)
def test_another_file_is_no_budget(text, words):
    with pytest.raises(DataError, match=words):
        read_chain(text, "budget.jsonl")


def test_an_empty_line_is_an_editors(content):
    assert len(read_chain(content + b"\n", "budget.jsonl").entries) == 3


def test_other_ends_of_lines_are_named_and_nobody_is_told_to_remove_the_file(content):
    """What a checkout on Windows makes of the file: it still has all that was charged."""
    with pytest.raises(DataError, match=r"CRLF.*bring back the file") as found:
        read_chain(content.replace(b"\n", b"\r\n"), "budget.jsonl")
    assert "remove it" not in str(found.value)


def test_a_budget_whose_first_line_is_damaged_is_not_to_be_removed(content):
    with pytest.raises(DataError, match=r"no whole first line.*bring back the file") as found:
        read_chain(content[:40] + content[60:200] + content[content.index(b"\n") :], "budget.jsonl")
    assert "remove it" not in str(found.value)


def test_two_releases_whose_lines_were_cut_are_not_sealed_as_one(tmp_path):
    """Equal ones were counted once by the next line: their numbers say that they are two."""
    budget = Budget.create(tmp_path / "budget.jsonl", epsilon=3.0)
    for _ in range(2):
        budget.charge("laplace", noise_scale=2)
    header, *lines = budget.path.read_bytes().splitlines()
    budget.path.write_bytes(b"\n".join([header, *(line[:-20] for line in lines)]))
    again = Budget(budget.path)
    assert again.overview().limits[0].spent == 1.0
    with pytest.raises(DataError, match="spend mend"):
        again.charge("laplace", noise_scale=2)
    again.mend("laplace", noise_scale=2, count=2)
    assert again.charge("laplace", noise_scale=2).spent == 1.5


@pytest.mark.parametrize("head", ["", " ", "a", "0123456"])
def test_a_digest_that_any_line_may_have_shows_nothing(tmp_path, head):
    """Such as a variable of a job that is empty: it was found in every file."""
    budget = Budget.create(tmp_path / "budget.jsonl", epsilon=3.0)
    with pytest.raises(InvalidArgument, match="at least 8 digits"):
        budget.verify(head)
    assert budget.verify(budget.read().head[:8]).entries == ()
