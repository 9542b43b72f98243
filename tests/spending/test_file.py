"""The file under a full disk, without permission, replaced while somebody waits, and shared."""

from __future__ import annotations

import errno
import os
import resource
import signal
import threading

import pytest

from dpaudit import Budget
from dpaudit.errors import BudgetExceeded, DataError
from dpaudit.spending import file as spending_file


@pytest.fixture
def budget(tmp_path):
    return Budget.create(tmp_path / "budget.jsonl", epsilon=2.0)


def test_a_full_disk_charges_nothing_and_leaves_the_file_whole(budget):
    """A limit on the size of files stands for a disk that is full in the middle of a line."""
    before = budget.path.read_bytes()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100,) * 2)
            budget.charge("laplace", noise_scale=2)
        except DataError as error:
            status = 0 if "so nothing was charged" in str(error) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert budget.path.read_bytes() == before
    assert budget.charge("laplace", noise_scale=2).entry.number == 1


@pytest.mark.parametrize(
    ("code", "words"),
    [(errno.EACCES, "Permission denied"), (errno.EROFS, "Read-only file system")],
)
def test_a_file_that_may_not_be_written_is_said_to_be(budget, monkeypatch, code, words):
    open_file = os.open

    def refuse(path, flags, *rest, **named):
        if flags & os.O_RDWR:
            raise OSError(code, os.strerror(code))
        return open_file(path, flags, *rest, **named)

    monkeypatch.setattr(spending_file.os, "open", refuse)
    with pytest.raises(DataError, match=f"cannot be written, so nothing was charged .{words}"):
        budget.charge("laplace", noise_scale=2)
    assert budget.check("laplace", noise_scale=2).fits  # which only reads


def test_a_disk_that_does_not_say_that_it_wrote_is_no_success(budget, monkeypatch):
    def fail(descriptor):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(spending_file.os, "fsync", fail)
        with pytest.raises(DataError, match="release nothing"):
            budget.charge("laplace", noise_scale=2)
    assert budget.overview().limits[0].spent == 0.5  # over-counted, never lost


def test_what_is_no_plain_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="is not there"):
        Budget(tmp_path / "none.jsonl").read()
    with pytest.raises(DataError, match="is no plain file"):
        Budget(tmp_path).read()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="is no plain file"):
        Budget(tmp_path / "pipe").read()


def test_whoever_waits_for_a_file_that_is_replaced_takes_the_new_one(budget):
    """An editor writes a new file in place of the old one while somebody waits for the lock."""
    found = []
    with budget:
        waiting = threading.Thread(
            target=lambda: found.append(Budget(budget.path).charge("laplace", noise_scale=2))
        )
        waiting.start()
        copy = budget.path.with_name("copy.jsonl")
        copy.write_bytes(budget.path.read_bytes())
        copy.replace(budget.path)
    waiting.join()
    assert len(Budget(budget.path).read().entries) == len(found) == 1


def test_two_writers_do_not_take_the_same_rest(budget):
    """Four halves fit, of which eight writers try one each."""
    outcomes = []

    def write():
        try:
            Budget(budget.path).charge("laplace", noise_scale=2)
            outcomes.append("charged")
        except BudgetExceeded:
            outcomes.append("refused")

    writers = [threading.Thread(target=write) for _ in range(8)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert sorted(outcomes) == ["charged"] * 4 + ["refused"] * 4
    assert budget.overview().limits[0].spent == 2.0


def test_network_file_systems_are_named(budget, monkeypatch):
    mounts = f"/dev/sda / ext4 rw 0 0\nserver:/x {budget.path.parent} nfs4 rw 0 0\n"
    read_text = spending_file.Path.read_text

    def read(self, *given, **named):
        return mounts if str(self) == "/proc/self/mounts" else read_text(self, *given, **named)

    assert spending_file.network_of(budget.path) is None
    monkeypatch.setattr(spending_file.Path, "read_text", read)
    assert spending_file.network_of(budget.path) == "nfs4"
    assert "network" in budget.overview().remarks


def test_a_thread_with_the_same_object_waits_for_a_block(budget):
    """Without that both write after the same line, and nobody can read the file any more."""
    others = [
        threading.Thread(target=budget.charge, args=("laplace",), kwargs={"noise_scale": 20})
        for _ in range(4)
    ]
    with budget:
        for one in others:
            one.start()
        for _ in range(4):
            budget.charge("laplace", noise_scale=20)
        assert len(budget.read().entries) == 4
    for one in others:
        one.join()
    assert [one.number for one in budget.verify().entries] == list(range(1, 9))


def test_a_child_of_a_block_waits_for_it(budget):
    """A fork has its parent's open files, and with these its lock."""
    start, go = os.pipe()
    with budget:
        process = os.fork()
        if process == 0:
            status = 1
            try:
                os.write(go, b"-")
                status = 0 if budget.charge("laplace", noise_scale=20).entry.number == 2 else 2
            finally:
                os._exit(status)
        os.read(start, 1)
        assert budget.charge("laplace", noise_scale=20).entry.number == 1
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert len(budget.verify().entries) == 2


def test_a_file_that_is_replaced_in_a_block_takes_no_charge(budget):
    copy = budget.path.with_name("copy")
    copy.write_bytes(budget.path.read_bytes())
    with budget:
        copy.rename(budget.path)
        with pytest.raises(DataError, match=r"replaced while it was held.*release nothing"):
            budget.charge("laplace", noise_scale=20)
    assert budget.charge("laplace", noise_scale=20).entry.number == 1


def test_a_file_that_is_replaced_while_a_line_is_written_is_no_success(budget, monkeypatch):
    write = os.write

    def replace_and_write(descriptor, content):
        copy = budget.path.with_name("copy")
        copy.write_bytes(budget.path.read_bytes())
        copy.rename(budget.path)
        return write(descriptor, content)

    monkeypatch.setattr(spending_file.os, "write", replace_and_write)
    with pytest.raises(DataError, match="replaced while it was held"):
        budget.charge("laplace", noise_scale=20)


def test_a_file_that_goes_while_its_lock_is_awaited_is_named(tmp_path, monkeypatch):
    path = tmp_path / "budget.jsonl"
    path.write_text("{}")

    def remove(path, descriptor):
        path.unlink()
        return False

    monkeypatch.setattr(spending_file, "_is_there", remove)
    held = spending_file.hold_file(path, to_write=True, wait=1)
    with pytest.raises(DataError, match=r"budget\.jsonl"), held:
        pass
