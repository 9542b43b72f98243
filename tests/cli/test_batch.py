"""The audits of one command: in which order, what failed, what is written, and the status."""

from __future__ import annotations

import contextlib
import shlex
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

import dpaudit.cli.batch as batch
from dpaudit.cli.audited_code import format_verify_command
from dpaudit.cli.batch import Batch, _format_report_places
from dpaudit.cli.ending import Interruption
from dpaudit.cli.formats import JSON, Formats
from dpaudit.cli.output import OutputOptions
from dpaudit.errors import DpauditError
from dpaudit.execution.executor import ShareDrawn
from tests.report import samples

CERTIFICATE = SimpleNamespace(kind="mechanism", relation="replace-record", instance={"pair": {}})


@dataclass
class Ready:
    """An audit that ends as it is told, and keeps how it was run."""

    name: str
    ends: object = "not refuted"
    interrupted: bool = False
    executor: object = None

    @property
    def claim(self):
        return SimpleNamespace(name=self.name)

    def run(self, executor):
        self.executor = executor
        if isinstance(self.ends, BaseException):
            raise self.ends
        result = samples.result().model_copy(update={"claim": self.name, "verdict": self.ends})
        return SimpleNamespace(result=result, certificate=None, interrupted=self.interrupted)


@dataclass(frozen=True)
class Computes:
    """An executor."""

    workers: int = 3
    backend: object = None
    progress: object = None
    since: float | None = None


@pytest.fixture
def made(monkeypatch):
    """Return a function that makes a batch which writes and shows into lists."""
    wrote, shown = [], []
    monkeypatch.setattr(
        "dpaudit.report.document.write_report",
        lambda report, folder, certificates, holds_records: wrote.append(
            ([one.claim for one in report.results], folder, certificates)
        ),
    )
    monkeypatch.setattr(Batch, "_show", lambda self: shown.append(len(self.ended)))
    monkeypatch.setattr(batch, "progress_bar", lambda *_, **__: contextlib.nullcontext("bar"))

    def make(*names, directory="out", shows=None, **given):
        output = OutputOptions(directory=directory, formats=Formats(shown=shows), quiet=True)
        made = Batch(names, Computes(), output, began=5.0, **given)
        made.wrote, made.shown = wrote, shown
        return made

    return make


def run(one, *ready):
    return one.run(dict(enumerate(ready)))


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        (("not refuted",), 0),
        (("not refuted", "refuted"), 1),
        (("refuted", "withheld"), 2),
        (("withheld",), 2),
    ],
)
def test_the_status_is_that_of_all_verdicts(made, verdicts, status, capsys):
    names = [f"claim-{place}" for place in range(len(verdicts))]
    one = made(*names)
    assert run(one, *map(Ready, names, verdicts)) == status
    assert [result.verdict for result in one.results] == list(verdicts)
    told = capsys.readouterr().err
    assert told.count("error: ") == verdicts.count("withheld")


def test_what_ended_is_written_at_once_and_shown_once(made):
    one = made("a", "b")
    run(one, Ready("a"), Ready("b"))
    assert [found for found, *_ in one.wrote] == [["a"], ["a", "b"]]
    assert {folder for _, folder, _ in one.wrote} == {"out"}
    assert one.shown == [2]
    nowhere = made("a", directory=None)
    run(nowhere, Ready("a"))
    assert len(one.wrote) == 2


def test_results_are_in_the_order_that_was_asked_for(made):
    one = made("a", "b", "c")
    one.run({2: Ready("c"), 0: Ready("a")})
    assert [result.claim for result in one.results] == ["a", "c"]
    assert one.missing == ["b"]


def test_only_the_first_counts_from_the_start_of_the_command(made):
    one, ready = made("a", "b"), [Ready("a"), Ready("b")]
    run(one, *ready)
    assert [found.executor.since for found in ready] == [5.0, None]
    assert [found.executor.progress for found in ready] == ["bar", "bar"]
    failing = [Ready("a", DpauditError("no")), Ready("b")]
    run(made("a", "b"), *failing)
    assert [found.executor.since for found in failing] == [5.0, None]


def test_a_failure_is_one_audits_and_the_others_go_on(made, capsys):
    one = made("a", "b")
    assert run(one, Ready("a", ZeroDivisionError("x")), Ready("b", "refuted")) == 2
    assert list(one.ended) == [1]
    assert one._why(0).startswith("a: ")
    assert one._why(1) is None
    assert "error: a: " in capsys.readouterr().err
    alone = made("a")
    assert run(alone, Ready("a", DpauditError("it is broken"))) == 2
    assert capsys.readouterr().err == "error: it is broken\n"
    assert alone.name_of(0) is None
    assert one.name_of(1) == "b"


def test_an_interrupt_ends_the_run_and_keeps_what_had_ended(made, capsys):
    one = made("a", "b", "c")
    with pytest.raises(Interruption, match="1 of 3 ended; missing: b, c"):
        run(one, Ready("a"), Ready("b", KeyboardInterrupt()), Ready("c"))
    assert one.shown == [1]
    alone = made("a")
    with pytest.raises(KeyboardInterrupt) as raised:
        run(alone, Ready("a", KeyboardInterrupt()))
    assert not isinstance(raised.value, Interruption)
    halfway = made("a")
    with pytest.raises(KeyboardInterrupt) as raised:
        run(halfway, Ready("a", interrupted=True))
    assert not isinstance(raised.value, Interruption)
    assert list(halfway.ended) == [0]


def test_shares_that_were_drawn_have_no_verdict_and_are_no_failure(made, capsys):
    one = made("a")
    assert run(one, Ready("a", ShareDrawn("counting", (0, 2), 3, 3))) == 0
    assert one.ended == {}
    assert one.shown == []
    told = capsys.readouterr().err
    assert told.startswith("a: ")
    assert "dpaudit merge" in told


@pytest.mark.parametrize("shows", [None, JSON])
def test_where_nothing_ended_the_page_is_shown_unless_there_are_shares(made, shows):
    one = made("a", shows=shows)
    run(one, Ready("a", DpauditError("no")))
    assert one.shown == []
    assert one.wrote == []


def test_a_report_that_cannot_be_written_is_tried_again_and_then_a_failure(made, monkeypatch):
    one, tries = made("a"), []

    def fails(*_, **__):
        tries.append(1)
        raise OSError("no room")

    monkeypatch.setattr("dpaudit.report.document.write_report", fails)
    assert run(one, Ready("a")) == 2
    assert (len(tries), len(one.failures), one.shown) == (2, 1, [1])


def test_a_report_says_how_long_it_took_and_by_how_many(made, monkeypatch):
    monkeypatch.setattr(batch.time, "monotonic", lambda: 12.5)
    one = made("a", "b")
    one.ended[0] = SimpleNamespace(result=samples.result(), certificate=None)
    environment = one._report().environment
    assert (environment.seconds, environment.workers) == (7.5, 3)


def test_other_tools_are_told_of_every_audit_in_order(made, monkeypatch):
    given = []
    monkeypatch.setattr(
        "dpaudit.report.entries.entries_of",
        lambda report, audits, root: given.append((audits, root)),
    )
    one = made("a", "b", places=["here", None], root=Path("/root"))
    run(one, Ready("a", DpauditError("no")), Ready("b"))
    one._entries()
    (((first, second), root),) = given
    assert first == ("a", None, "a: no", "here")
    assert (second[0], second[1].claim, second[2:]) == ("b", "b", (None, None))
    assert root == Path("/root")


# What a reader is told


def certificate(**given):
    return SimpleNamespace(**(vars(CERTIFICATE) | given))


OWN = " --mechanism module:object"
FILES = " --dataset FILE --neighbour FILE"
MADE = {"instance": {"pair": {"made": 1}}}


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ([], ""),
        ([{}], f"{OWN}{FILES}"),
        ([MADE], OWN),
        ([{"instance": {"pair": {"data": 1}}}], OWN),
        ([{"instance": {"pair": {"data": 1}}}, {}], f"{OWN}{FILES}"),
        ([{**MADE, "relation": "metric: euclidean"}], f"{OWN} --relation 'metric: euclidean'"),
        (
            [
                {**MADE, "relation": "metric: euclidean"},
                {**MADE, "relation": "metric: hamming"},
            ],
            OWN,
        ),
    ],
)
def test_a_reader_names_files_where_no_pair_is_made_and_a_distance_that_all_have(own, said):
    found = format_verify_command(
        Path("c.json"), [certificate(**one) for one in own], [{}] * len(own)
    )
    assert found == f"dpaudit verify c.json{said}"


SERVICE = {"url": "http://h/c?of={dataset}", "dataset": "a", "neighbour": "b"}
PROGRAM = {"program": "./noiser {data} 'a b'", "dataset": "my a.csv", "neighbour": "b.csv"}


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ([PROGRAM], ["--command", "./noiser {data} 'a b'", "--dataset", "my a.csv", "--neighbour"]),
        ([{"mechanism": "m:f", "read": ["mean"]}], ["--mechanism", "m:f", "--dataset", "FILE"]),
        ([{"mechanism": "m:f"}, {"mechanism": "m:g"}], ["--mechanism", "module:object"]),
        (
            [{"url": "http://h/c?of={dataset}", "dataset": "a", "neighbour": "b"}],
            ["--url", "http://h/c?of={dataset}", "--dataset", "a", "--neighbour", "b"],
        ),
    ],
)
def test_what_was_audited_is_named_with_quotes_where_a_shell_needs_them(named, words):
    command = format_verify_command(Path("c 1.json"), [certificate() for _ in named], named)
    found = shlex.split(command)
    assert found[:3] == ["dpaudit", "verify", "c 1.json"]
    assert found[3 : 3 + len(words)] == words
    assert ("FILE" in found) == (len(named) > 1 or "mechanism" in named[0])
    assert found.count("--read") == ("read" in named[0])


def test_only_certificates_of_own_mechanisms_need_a_mechanism():
    paths = SimpleNamespace(html="a.html", certificate="c.json", all=())
    report, line, *_ = _format_report_places(
        paths, [certificate(), certificate(kind="algebra")], [{}, {}]
    )
    assert report == "Report: a.html"
    assert line.startswith("Certificate: c.json; check it with dpaudit verify c.json --mechanism")
    _, line, *_ = _format_report_places(paths, [certificate(kind="algebra")], [{}])
    assert line == "Certificate: c.json; check it with dpaudit verify c.json"
    assert (
        len(_format_report_places(SimpleNamespace(html="a", certificate=None, all=()), [], [])) == 1
    )


@pytest.mark.parametrize(("named", "said"), [({"outputs": ["a b.csv", "c.csv"]}, 2), ({}, 1)])
def test_files_of_outputs_are_named_as_they_were_given(named, said):
    drawn = certificate(kind="outputs", instance={"sha256": ["1" * 64]})
    found = shlex.split(format_verify_command(Path("c.json"), [drawn], [named]))
    assert found[3:] == [w for one in named.get("outputs", ["FILE"]) for w in ("--outputs", one)]
    assert found.count("--outputs") == said
