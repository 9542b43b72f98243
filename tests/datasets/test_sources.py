import http.client
import pickle
import socket
import urllib.error
import urllib.request
import zlib

import pytest
from sklearn.datasets import _openml

from dpaudit.datasets.sources import DATA_VARIABLE, DatasetSource, as_path, read_text
from dpaudit.errors import DataError, InvalidArgument

SOURCE = DatasetSource(
    files=("one", "two"), archive="the archive", openml_name="both", openml_version=3
)
SINGLE = DatasetSource(files=("one",), archive="the archive", openml_name="one", openml_version=1)


@pytest.fixture
def folder(tmp_path):
    for name in SOURCE.files:
        (tmp_path / name).write_text(name)
    return tmp_path


def test_without_a_place_there_is_nothing_to_read(no_data_variable):
    assert SOURCE.find(None) is None


def test_an_empty_variable_counts_as_unset(monkeypatch):
    monkeypatch.setenv(DATA_VARIABLE, "")
    assert SOURCE.find(None) is None


def test_files_are_found_in_the_variable(monkeypatch, folder):
    monkeypatch.setenv(DATA_VARIABLE, str(folder))
    assert SOURCE.find(None) == (folder / "one", folder / "two")


def test_the_path_wins_over_the_variable(monkeypatch, folder):
    monkeypatch.setenv(DATA_VARIABLE, "/nowhere")
    assert SOURCE.find(folder) == (folder / "one", folder / "two")


def test_one_file_stands_for_its_neighbours(folder):
    assert SOURCE.find(str(folder / "two")) == (folder / "one", folder / "two")


def test_a_single_file_may_have_any_name(folder):
    (folder / "renamed").write_text("one")
    assert SINGLE.find(folder / "renamed") == (folder / "renamed",)


def test_home_is_expanded(monkeypatch, folder):
    monkeypatch.setenv("HOME", str(folder))
    assert SOURCE.find("~") == (folder / "one", folder / "two")


def test_a_missing_file_is_named_with_what_to_do(folder):
    (folder / "two").unlink()
    with pytest.raises(DataError) as refusal:
        SOURCE.find(folder)
    message = str(refusal.value)
    assert message.startswith(f"{folder}: no file two; put one and two (the archive) into a dir")
    assert message.endswith(f"name it with {DATA_VARIABLE} or --data-path")


def test_a_set_variable_is_not_passed_over(monkeypatch, tmp_path):
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    with pytest.raises(DataError, match=rf"\(from {DATA_VARIABLE}\): no file one or two;"):
        SOURCE.find(None)


@pytest.mark.parametrize(("name", "found"), [("absent", "nothing"), ("stranger", "a file")])
def test_a_place_that_is_no_directory_is_refused(folder, name, found):
    (folder / "stranger").write_text("")
    with pytest.raises(DataError, match=f"{name}: found {found}, expected a directory"):
        SOURCE.find(folder / name)


@pytest.mark.parametrize("path", [7, b"bytes", "", "a\0b", ["list"]])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InvalidArgument, match="path: got"):
        as_path(path)


def test_text_is_read_without_byte_order_mark_and_with_plain_line_ends(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert read_text(file) == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "found no text"),
        (b" \n\n", "found no text"),
        (b"good\ngood\nb\xffd\n", "line 3: byte 2 is not UTF-8 text"),
    ],
)
def test_unreadable_text_is_refused(tmp_path, content, reason):
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(DataError, match=f"{file}: {reason}") as refusal:
        read_text(file)
    assert "\n" not in str(refusal.value)


def test_a_directory_in_the_place_of_a_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="found a directory, expected a file"):
        read_text(tmp_path)


def test_an_absent_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_text(tmp_path / "absent")


def test_a_fetch_asks_for_the_stated_version_and_hardly_retries(openml):
    calls = openml("records")
    assert SOURCE.fetch(as_frame=True) == "records"
    (call,) = calls
    assert call == ("both", {"version": 3, "as_frame": True, "n_retries": 1, "delay": 0.1})


@pytest.mark.parametrize(
    "error",
    [
        urllib.error.URLError("no route"),
        urllib.error.HTTPError("https://openml", 500, "broken", None, None),
        ConnectionResetError("reset"),
        TimeoutError("slow"),
        OSError("disk"),
        http.client.IncompleteRead(b"half"),
        _openml.OpenMLError("no such\ndata set"),
        ValueError("md5 checksum does not match"),
        EOFError("cut off"),
        zlib.error("bad block"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_failed_fetch_says_what_to_do_in_one_line(openml, error):
    openml(error)
    with pytest.raises(DataError) as refusal:
        SOURCE.fetch(as_frame=True)
    message = str(refusal.value)
    assert message.startswith(f"OpenML 'both' version 3: not fetched ({type(error).__name__}: ")
    assert message.endswith(SOURCE.advice)
    assert "\n" not in message
    assert refusal.value.__suppress_context__
    assert str(pickle.loads(pickle.dumps(refusal.value))) == message


def test_other_errors_are_not_swallowed(openml):
    openml(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        SOURCE.fetch(as_frame=True)


def test_a_real_fetch_without_a_network_is_quick_quiet_and_restores_the_timeout(
    monkeypatch, no_data_variable, tmp_path, recwarn
):
    timeouts = []

    def unplugged(self, *arguments, **options):
        timeouts.append(socket.getdefaulttimeout())
        raise urllib.error.URLError("unplugged")

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", unplugged)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    # Whatever an earlier test left behind must not hide a timeout that stays.
    socket.setdefaulttimeout(None)
    with pytest.raises(DataError, match=r"not fetched \(URLError: .*unplugged"):
        SOURCE.fetch(as_frame=True)
    assert len(timeouts) == 2  # once, and one retry
    assert None not in timeouts
    assert socket.getdefaulttimeout() is None
    assert not recwarn.list
