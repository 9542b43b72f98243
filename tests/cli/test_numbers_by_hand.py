"""What commands print beside a bound: never more than holds, and of its own line."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from dpaudit.accounting.accountants import AccountantAnswer
from dpaudit.cli import account, scan, verify, watch
from dpaudit.cli.ending import report_failures
from dpaudit.cli.formats import Formats
from dpaudit.errors import DpauditError
from dpaudit.scan.finding import ScanResult
from tests.scan import samples


def printed(thing):
    stream = io.StringIO()
    Console(file=stream, width=200).print(thing)
    return stream.getvalue()


def test_the_table_of_a_scan_rounds_a_certified_bound_down():
    line = samples.checked("tools.alpha", "replace-record", True)
    made = samples.scan().model_copy(
        update={
            "checked": [
                line.model_copy(update={"lower": 1.23459, "documented": True}),
                line.model_copy(update={"lower": None, "verdict": "withheld"}),
            ]
        }
    )
    first, second = [
        one for one in printed(scan._make_scan_table(made)).splitlines() if "alpha" in one
    ]
    assert "ε ≥ 1.234 " in first
    assert "replace-record (claimed)" in first
    assert "refuted" in first
    assert "ε" not in second
    assert "(claimed)" not in second
    assert "withheld" in second


@pytest.mark.parametrize(
    ("findings", "skipped", "begins"),
    [
        (0, {}, "No finding at a confidence of 0.999999 for all together."),
        (2, {}, "2 findings at a confidence"),
        (1, {"x": "why"}, "1 findings; the verdict on 1 subject is withheld at a confidence"),
    ],
)
def test_a_scan_closes_with_its_findings_and_what_is_withheld(findings, skipped, begins):
    one = samples.scan(*[samples.finding("tools.alpha")] * findings, skipped=skipped)
    assert scan._format_scan_closing(one).startswith(begins)
    sure = one.certainty.model_copy(update={"confidence": 0.99999999999})
    assert "of 0.9999999999 for" in scan._format_scan_closing(
        one.model_copy(update={"certainty": sure})
    )
    assert isinstance(one, ScanResult)


@pytest.mark.parametrize(
    ("findings", "skipped", "status"),
    [
        ((), {}, 0),
        (("tools.alpha",), {}, 1),
        ((), {"x": "why"}, 2),
        (("tools.alpha",), {"x": "y"}, 2),
    ],
)
def test_the_status_of_a_scan_is_that_of_its_findings_and_of_what_is_withheld(
    monkeypatch, capsys, findings, skipped, status
):
    made = samples.scan(*map(samples.finding, findings), skipped=skipped)
    monkeypatch.setattr("dpaudit.scan.scan.scan_package", lambda *_, **__: made)
    places = scan.Destinations(out=None, gallery=None, disclosure="disclosure")
    asked = {"env": None, "subjects": (), "seed": 0, "workers": 1}
    package = SimpleNamespace(name="toy")
    found = scan.run(package, {"seconds": 5.0}, asked, places, formats=Formats(), quiet=True)
    assert found == status
    told = capsys.readouterr().err
    assert told == "".join(f"error: {name}: withheld: {why}\n" for name, why in skipped.items())


@pytest.mark.parametrize(("out", "share"), [(None, 1.0), ("out", 0.7)])
def test_a_scan_keeps_time_for_reproductions_where_they_are_made(monkeypatch, tmp_path, out, share):
    given = []

    def scanned(package, budget, **_):
        given.append(budget.seconds)
        return samples.scan()

    monkeypatch.setattr("dpaudit.scan.scan.scan_package", scanned)
    monkeypatch.setattr(
        "dpaudit.scan.evidence.with_reproductions",
        lambda result, package, env, progress, left, workers: given.append(left) or result,
    )
    monkeypatch.setattr(scan.Destinations, "write", lambda *_: [])
    folder = None if out is None else str(tmp_path / out)
    places = scan.Destinations(out=folder, gallery=None, disclosure=str(tmp_path / "disclosure"))
    asked = {"env": None, "subjects": (), "seed": 0, "workers": 1}
    package = SimpleNamespace(name="toy")
    scan.run(package, {"seconds": 100.0}, asked, places, formats=Formats(), quiet=True)
    assert given == [pytest.approx(100 * share), *([] if out is None else [100.0 - 12.5])]


@pytest.mark.parametrize(
    ("lower", "said"), [(1.23459, "at least 1.234\n"), (0.0, "at least 0\n"), (2.0, "at least 2\n")]
)
def test_bets_that_are_watched_round_their_bound_down(monkeypatch, lower, said):
    lines = []
    monkeypatch.setattr(watch.streams, "write_now", lambda line: lines.append(line + "\n"))
    bettor = SimpleNamespace(
        lower=lower, log_wealth=1.0, pairs=1200, target=SimpleNamespace(alpha=0.05)
    )
    output = SimpleNamespace(formats=Formats(), quiet=False)
    now = watch._say_change(SimpleNamespace(bettor=bettor), (-1.0, 0.0), output)
    assert now == (lower, 1.0)
    assert lines[0].startswith("1,200 pairs: wealth 2.72 of 20, epsilon ")
    assert lines[0].endswith(said)
    assert watch._say_change(SimpleNamespace(bettor=bettor), (lower, 0.5), output) == (lower, 0.5)
    assert len(lines) == 1


# Accounts


def answer(**given):
    return AccountantAnswer(accountant="a", kind="exact", source="s", **given)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"lower": 1.234567891, "upper": 1.234567899}, "[1.2345678, 1.2345679]"),
        ({"lower": 2.0, "upper": 2.0}, "2"),
        ({"upper": 1.000000001}, "1.0000001"),
        ({"estimate": 1.00000004}, "1"),
    ],
)
def test_bounds_of_accountants_are_rounded_to_the_side_on_which_they_hold(given, shown):
    assert account._format_answer(answer(**given)) == shown


@pytest.mark.parametrize(
    ("lower", "said"),
    [(1.0, False), (0.9901, False), (0.98, True), (0.0, True), (None, False)],
)
def test_where_the_truth_may_be_less_it_is_said(lower, said):
    found = [str(one) for one in account._render_attained_bound(answer(lower=lower, upper=1.0))]
    assert bool(found) is said
    if said:
        assert found == [f"The truth may be less, but not below {lower:g}."]
    assert not list(account._render_attained_bound(answer(lower=0.0, upper=float("inf"))))


def against(published, proved=2.0, delta=1e-5, at=1e-5, note=""):
    said = SimpleNamespace(epsilon=published, delta=at, note=note)
    result = SimpleNamespace(
        published=said, proved=None if proved is None else answer(upper=proved), delta=delta
    )
    return [str(one) for one in account._render_published_comparison(result)]


def test_a_published_number_is_compared_only_where_it_is_of_no_larger_delta():
    assert against(3.0) == ["The proved epsilon is 1.5 times below the published number."]
    assert against(3.0, at=1e-6) == ["The proved epsilon is 1.5 times below the published number."]
    assert against(3.0, at=1e-4) == []
    assert against(0.0) == against(float("inf")) == against(3.0, proved=0.0) == []
    assert against(3.0, proved=None) == []
    assert against(3.0, at=1e-4, note="it is old") == ["About the published number: it is old"]


# Certificates


def verdict(*, verified=True, published=True, reservations=(), failures=()):
    return SimpleNamespace(
        summary="s", claim="c", verified=verified, refutes_as_published=published,
        reservations=reservations, failures=failures, proves=False,
    )  # fmt: skip


def test_a_certificate_with_reservations_is_said_to_have_them():
    assert verify._format_verdict_lines("p", verdict()) == ["p: c: verified, s"]
    assert verify._format_verdict_lines("p", verdict(published=False, reservations=("a", "b"))) == [
        "p: c: verified, but not the claim as published (a; b): s"
    ]
    assert verify._format_verdict_lines(
        "p", verdict(verified=False, published=False, failures=("x", "y"))
    ) == [
        "p: c: fails",
        "  x",
        "  y",
    ]


@pytest.mark.parametrize(
    ("found", "status"),
    [
        ([True], 0),
        ([True, False], 1),
        ([False], 1),
        ([True, None], 2),
        ([False, None], 2),
    ],
)
def test_one_certificate_that_fails_or_could_not_be_checked_decides(
    monkeypatch, capsys, found, status
):
    documents = [SimpleNamespace(path=str(place)) for place in range(len(found))]
    outcomes = [
        DpauditError("it is none") if one is None else verdict(verified=one, published=one)
        for one in found
    ]
    monkeypatch.setattr("dpaudit.verification.document.read", lambda path: [documents[int(path)]])
    monkeypatch.setattr(
        "dpaudit.verification.many.verify_many", lambda *_, **__: enumerate(outcomes)
    )
    paths = [one.path for one in documents]
    assert verify.run(paths, None, reproduce=False, as_json=False) == status
    shown = capsys.readouterr()
    assert shown.out.count("\n") == sum(one is not None for one in found)
    assert ("it is none" in shown.err) == (None in found)
    assert report_failures(1, [DpauditError("x")]) == 2
