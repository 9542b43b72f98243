"""What commands make of their options and of what fails, one by one."""

from __future__ import annotations

import io
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import TypeAdapter, ValidationError

from dpaudit.auditing.audit_outcome import AuditOutcome
from dpaudit.cli import distinguish, publish, selftest, streams, verify
from dpaudit.cli.description import Local, Text
from dpaudit.cli.ending import collect_failures
from dpaudit.cli.options import pairs, reference_of
from dpaudit.cli.setting_options import _parse_column_bounds, _with_flags
from dpaudit.cli.storing import FILE, resolve_storing
from dpaudit.errors import DataError, DpauditError, InvalidArgument
from dpaudit.verification import Reader
from tests.report import samples

# Verification


GIVEN = {
    "confidence": 0.99,
    "seed": 7,
    "data_path": "data",
    "form": "one",
    "read": ["total"],
    "observe": ["time"],
    "ignore": ["label"],
    "fresh": "instance",
    "relation": "replace-record",
    "scores": "scores.npz",
    "design": "pairs",
}


@pytest.fixture
def asked(monkeypatch):
    """Return what a verification is asked for, which never runs."""
    found = []
    monkeypatch.setattr(verify, "run", lambda files, reader, **how: found.append((reader, how)))
    return found


@pytest.mark.parametrize("name", GIVEN)
def test_every_option_of_a_verification_is_the_readers(asked, name):
    given = {"seed": 1} | {name: GIVEN[name]}
    verify.verify(["c.json"], **given)
    assert asked[0][0] == Reader(**given)


def test_options_of_a_verification_are_read_together(asked, tmp_path):
    (tmp_path / "a.json").write_text("[1.0, 2.0]")
    records = str(tmp_path / "a.json")
    how = {"reproduce": True, "workers": 3, "as_json": True}
    verify.verify(["c.json"], mechanism="math:fsum", neighbour=records, guesses="10,20", **how)
    reader, told = asked[0]
    assert (reader.mechanism, reader.guesses, told) == ("math:fsum", (10, 20), how)
    assert reader.dataset is None
    assert list(reader.neighbour) == [1.0, 2.0]
    verify.verify(["c.json"])
    assert asked[1][0].seed != reader.seed  # of the system's entropy
    assert asked[1][0] == Reader(seed=asked[1][0].seed)
    for name in ("dataset", "neighbour"):
        with pytest.raises(InvalidArgument, match=f"--{name}"):
            verify.verify(["c.json"], **{name: records})


# Where outputs are kept


@pytest.mark.parametrize("full", [True, False])
def test_a_self_test_is_kept_as_the_one_that_it_is(monkeypatch, tmp_path, full):
    found = []
    monkeypatch.setattr(selftest, "run", lambda **given: found.append(given))
    selftest.selftest(full=full, seed=5, out=str(tmp_path))
    assert (found[0]["full"], found[0]["seed"]) == (full, 5)
    command = found[0]["where"].command
    assert (command["full"], command["seed"], command["command"]) == (full, 5, "selftest")


def test_a_store_that_is_named_is_the_one_of_a_share_too():
    def path(store, out, shard=None):
        return resolve_storing(store, False, out, {}, shard).path

    assert path("a.sqlite", "out", "1/2") == path("a.sqlite", "out") == Path("a.sqlite")
    assert path(None, "out", "1/2") == path(None, "out") == Path("out") / FILE
    assert path("a.sqlite", None, "1/2") == path("a.sqlite", None) == Path("a.sqlite")
    assert resolve_storing(None, True, "out", {}) is None
    for store, no_store, out in ((None, False, None), ("a", True, None), (None, True, "out")):
        with pytest.raises(InvalidArgument, match="shard"):
            resolve_storing(store, no_store, out, {}, "1/2")
    with pytest.raises(InvalidArgument, match="store"):
        resolve_storing("a", True, None, {})


# Descriptions of commands, and words


def test_only_files_and_folders_of_this_machine_are_kept(tmp_path):
    check = TypeAdapter(Local).validate_python
    (tmp_path / "a.csv").touch()
    for there in (tmp_path, tmp_path / "a.csv"):
        assert check(str(there), context={}) == str(there)
    for wrong in (str(tmp_path / "b.csv"), "https://example.org/a.csv", f"file://{tmp_path}"):
        with pytest.raises(ValidationError):
            check(wrong, context={})
        assert check(wrong) == wrong  # on the command line it is looked at where it is used


@pytest.mark.parametrize("wrong", ["", "-x", "--out", "a\nb", "a\x1b", "a" * 4097])
def test_only_a_text_of_a_line_that_is_no_option_is_kept(wrong):
    check = TypeAdapter(Text).validate_python
    assert check("a" * 4096, context={}) == "a" * 4096
    with pytest.raises(ValidationError):
        check(wrong, context={})
    assert check(wrong) == wrong


@pytest.mark.parametrize(
    ("texts", "bounds"),
    [
        (["0,1"], (0.0, 1.0)),
        (["a=0,1"], {"a": (0.0, 1.0)}),
        (["a=0,1", "b=-2,3"], {"a": (0.0, 1.0), "b": (-2.0, 3.0)}),
        (["a=b=0,1"], {"a=b": (0.0, 1.0)}),
        (["0,1", "0,1"], None),
        (["a=0,1", "0,1"], None),
        (["0,1", "a=0,1"], None),
        (["=0,1", "a=0,1"], None),
        (["a=0"], None),
    ],
)
def test_bounds_are_one_of_all_or_each_by_its_name(texts, bounds):
    if bounds is None:
        with pytest.raises(InvalidArgument, match="bounds"):
            _parse_column_bounds("--bounds", texts)
    else:
        assert _parse_column_bounds("--bounds", texts) == bounds


@pytest.mark.parametrize(
    ("target", "reference"),
    [
        ("a.py:f", "a:f"),
        ("a/b.py:f", "a.b:f"),
        ("a:f", "a:f"),
        ("a.py:", "a.py:"),
        ("/a/b.py:f", None),
        ("../a.py:f", None),
        ("a-b/c.py:f", None),
    ],
)
def test_a_file_below_this_folder_is_a_module(target, reference):
    if reference is None:
        with pytest.raises(InvalidArgument, match="target"):
            reference_of(target)
    else:
        assert reference_of(target) == reference


def test_values_are_json_or_text():
    assert pairs("--set", ["a=1", "b=x", "c=[1, 2]", "d=e=f", "g="]) == {
        "a": 1, "b": "x", "c": [1, 2], "d": "e=f", "g": "",
    }  # fmt: skip
    for wrong in ("a", "=1"):
        with pytest.raises(InvalidArgument, match="KEY=VALUE"):
            pairs("--set", [wrong])


def test_words_that_say_yes_or_no_of_a_domain_are_read_and_others_are_not():
    for word, said in (("no", False), ("False", False), ("yes", True), ("TRUE", True)):
        found = _with_flags({"missing": word, "integers": word, "form": word})
        assert found == {"missing": said, "integers": said, "form": word}
    assert _with_flags({"missing": "maybe", "records": 3}) == {"missing": "maybe", "records": 3}
    assert _with_flags({"missing": False, "integers": 0})["integers"] == 0


# What fails


def test_what_fails_is_named_where_it_has_a_name():
    failures = []
    for name in (None, "second"):
        with collect_failures(failures, name):
            raise DpauditError("no room")
    assert list(map(str, failures)) == ["no room", "second: no room"]


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("unknown"), "unknown"),
        (ValueError("I/O operation on closed file"), "I/O operation on closed file"),
    ],
)
def test_what_cannot_be_written_is_said_in_a_line(monkeypatch, error, why):
    monkeypatch.setattr(streams, "get_results_stream", io.StringIO)
    monkeypatch.setattr(streams, "_drop_stream_buffer", lambda stream: None)
    with pytest.raises(DataError, match="standard output") as told, streams.convert_write_errors():
        raise error
    assert f"({why})" in str(told.value)


@pytest.fixture
def gallery(monkeypatch, tmp_path):
    """Return a function that publishes outcomes of two claims, and what is said of failures."""

    def published(*outcomes):
        def audits(*_):
            for name, one in zip("ab", outcomes, strict=False):
                yield publish.VariantAudit(claim=name, variant=None, outcome=one, seconds=1.0)

        said = []
        monkeypatch.setattr(publish, "audit_all", audits)
        monkeypatch.setattr(publish, "get_published_keys", lambda _: [("a", None), ("b", None)])
        monkeypatch.setattr(publish.Gallery, "_write", lambda self, claim: None)
        monkeypatch.setattr(publish, "write_index", lambda *_: None)
        monkeypatch.setattr(publish, "_show_all", lambda *_: None)
        monkeypatch.setattr("dpaudit.cli.ending.print_error", lambda one: said.append(str(one)))
        output = SimpleNamespace(directory=str(tmp_path), quiet=True)
        return publish.run({}, 1, output), said

    return published


def test_the_status_of_all_claims_is_that_of_every_one(gallery):
    fine = AuditOutcome(samples.result(), None)
    refuted = AuditOutcome(samples.result(verdict="refuted"), None)
    assert gallery(fine, fine) == (0, [])
    assert gallery(fine, refuted) == (1, [])
    for outcomes in ((DpauditError("no data"), fine), (refuted, DpauditError("no data"))):
        status, said = gallery(*outcomes)
        assert status == 2
        assert [one.rpartition(": ")[2] for one in said] == ["no data"]


def test_a_gallery_holds_results_and_failures_apart(tmp_path):
    keys = [("a", None), ("b", None), ("c", "large")]
    one = publish.Gallery(keys, tmp_path, 1)
    good, bad = AuditOutcome(samples.result(), None), DpauditError("no data")
    one.found = {
        key: publish.VariantAudit(claim=key[0], variant=key[1], outcome=outcome, seconds=2.0)
        for key, outcome in zip(keys, (bad, good, bad), strict=True)
    }
    assert one.results == [good.result]
    assert len(one.failures) == 2
    assert len(one.missing) == 3
    one._reports["b"] = (None, [False])
    assert all("no data" in why.why for why in one.missing.values())
    assert len(one.missing) == 2
    del one.found["a", None]
    assert "not run" in [why.why for why in one.missing.values()]


# What a distinguisher tells


def curves(measured, claimed=(0.9, 0.5)):
    return SimpleNamespace(
        false_positive_rate=[0.001, 0.2], measured=measured, claimed=list(claimed)
    )


def test_error_rates_are_told_at_the_rate_that_is_nearest():
    rates = [distinguish._RATE * 3, distinguish._RATE * 1.1, distinguish._RATE * 0.5]
    found = SimpleNamespace(false_positive_rate=rates, measured=[0.1, 0.2, 0.3])
    assert distinguish._get_missed_rate(found) == 0.2
    assert (
        distinguish._get_missed_rate(SimpleNamespace(false_positive_rate=rates, measured=None))
        is None
    )


def test_a_panel_has_the_curves_that_there_are():
    made = distinguish._make_error_rate_panel(curves([0.8, None]))
    assert [one.label for one in made.curves] == ["measured", "claimed", "chance"]
    assert made.curves[0].y[0] == 0.8
    assert math.isnan(made.curves[0].y[1])
    assert list(made.curves[2].y) == pytest.approx([0.999, 0.8])
    without = distinguish._make_error_rate_panel(curves([0.8, 0.1], ()))
    assert [one.label for one in without.curves] == ["measured", "chance"]


@pytest.mark.parametrize("drawn", [None, curves(None), curves([0.8, 0.1])])
def test_what_was_not_measured_has_no_panel(monkeypatch, drawn):
    result = samples.result().model_copy(update={"trade_off": drawn})
    monkeypatch.setattr("dpaudit.auditing.run.run_claim", lambda *_: SimpleNamespace(result=result))
    given = SimpleNamespace(model_dump=lambda: {"claim": "c"})
    found = distinguish.tell_apart("histogram", given, 0, None)
    assert len(found.panels) == (drawn is not None and drawn.measured is not None)
    (row,) = found.rows
    assert row["certified"] == result.measured.lower
