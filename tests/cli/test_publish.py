"""``dpaudit audit --all``: a folder for each claim, certificates, and an index that tells."""

import json
import math
from types import SimpleNamespace

import pytest

from dpaudit.auditing.audit_outcome import AuditOutcome
from dpaudit.cli import publish
from dpaudit.cli.output import OutputOptions
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.execution import Silent
from dpaudit.extension.case import SearchCase
from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters
from dpaudit.extension.settings import Settings
from dpaudit.refutation import WorstInstance
from dpaudit.report.document import read_index, read_report

CARDS = {
    "a-holds": {"kind": "sensitivity", "published": {"again": Variant(settings={"seed": 5})}},
    "b-unbounded": {"kind": "privacy"},
    "c-fails": {"kind": "property"},
    "d-property": {"kind": "property"},
}
FOUND = {
    "a-holds": WorstInstance(value=0.9, bound=1.0, instance="here"),
    "b-unbounded": WorstInstance(value=math.inf, bound=1.0, instance="here", because="Support."),
    "d-property": WorstInstance(
        value=0.5, bound=-1.0, instance="here", scale=1.0, minimal="two records"
    ),
}


def prepare(name):
    def prepared(settings, parameters):
        if name == "c-fails":
            raise DataError("no data")
        return SearchCase(
            bound=FOUND[name].bound,
            attain=lambda trials, rng: FOUND[name],
            view="all",
            data="none",
            relation="any",
            pair="any",
            default_trials=100,
            parameters={},
            at_delta=1e-5 if CARDS[name]["kind"] == "privacy" else None,
            quantity="excess | over < all" if CARDS[name]["kind"] == "property" else None,
        )

    return prepared


@pytest.fixture
def cards(monkeypatch):
    made = {
        name: Claim(
            name=name,
            title=name,
            statement=f"{name} & <more>",
            source="an example",
            relation="any",
            assumptions={},
            prepare=prepare(name),
            parameters=Parameters,
            **options,
        )
        for name, options in CARDS.items()
    }
    claims = SimpleNamespace(all=lambda: made, get=made.__getitem__)
    monkeypatch.setattr(publish.registry, "CLAIMS", claims)


@pytest.fixture
def published(cards, tmp_path):
    found = list(publish.audit_all({}, 1, Silent()))
    return found, gallery_of(found, tmp_path / "reports").folder


def gallery_of(found, folder):
    folder.mkdir(exist_ok=True)
    gallery = publish.Gallery(publish.get_published_keys({}), folder, 1)
    for one in found:
        gallery.keep(one)
    return gallery


def test_every_claim_and_variant_is_audited_in_order(published):
    found, _ = published
    assert [(one.claim, one.variant) for one in found] == [
        ("a-holds", None),
        ("a-holds", "again"),
        ("b-unbounded", None),
        ("c-fails", None),
        ("d-property", None),
    ]


def test_a_claim_that_fails_is_named_and_the_others_are_kept(published):
    found, folder = published
    assert [str(one) for one in gallery_of(found, folder).failures] == ["c-fails: no data"]
    assert not (folder / "c-fails").exists()
    assert {path.name for path in folder.iterdir()} == {
        "a-holds", "b-unbounded", "d-property", "index.html", "index.json", "index.md",
    }  # fmt: skip


def test_the_index_tells_what_the_reports_tell(published):
    _, folder = published
    entries = {entry["label"]: entry for entry in read_index(folder / "index.json")}
    failed = entries.pop("c-fails")
    assert failed == {"label": "c-fails", "verdict": None, "reason": "failed: no data"}
    assert set(entries) == {"a-holds", "a-holds (again)", "b-unbounded", "d-property"}
    assert entries["b-unbounded"]["lower"] == "Infinity"
    for entry in entries.values():
        report = read_report(folder / entry["claim"] / "report.json")
        (result,) = [one for one in report.results if one.variant == entry["variant"]]
        assert result.verdict == entry["verdict"]
    page, text = ((folder / f"index.{kind}").read_text() for kind in ("html", "md"))
    assert "a-holds &amp; &lt;more&gt;" in page
    assert "excess | over" not in text  # a bar would end the table's cell
    assert "2 of 3 claims are refuted as printed" in page
    assert "∞" in page


def test_refutations_without_a_certificate_of_their_own_get_their_counts(published):
    found, folder = published
    outcomes = {one.claim: one.outcome for one in found}
    assert outcomes["b-unbounded"].certificate is None  # an infinite number has no count
    certificate = outcomes["d-property"].certificate
    assert certificate.kind == "statistical"
    assert (folder / "d-property" / "certificate.json").exists()


def test_bounds_of_zero_or_less_are_judged_by_the_scale(published):
    found, _ = published
    (result,) = [o.outcome.result for o in found if o.claim == "d-property"]
    assert (result.verdict, result.claimed.value, result.measured.lower) == ("refuted", -1.0, 0.5)
    assert "Smallest instance that breaks the claim: two records." in result.notes


def test_a_report_of_some_variants_names_the_others(cards, tmp_path):
    found, folder = list(publish.audit_all({}, 1, Silent())), tmp_path / "reports"
    gallery_of(found[:1], folder)
    assert read_report(folder / "a-holds" / "report.json").missing == ["a-holds (again)"]
    gallery_of(found, folder)
    assert read_report(folder / "a-holds" / "report.json").missing == []


def test_a_stale_certificate_is_removed(cards, tmp_path):
    stale = tmp_path / "a-holds" / "certificate.json"
    stale.parent.mkdir(parents=True)
    stale.write_text("{}")
    gallery_of(publish.audit_all({}, 1, Silent()), tmp_path)
    assert not stale.exists()


def test_an_interrupt_keeps_the_reports_of_what_was_audited(dpaudit, cards, tmp_path, monkeypatch):
    whole = publish.audit_all

    def interrupted(*arguments):
        yield from list(whole(*arguments))[:2]
        raise KeyboardInterrupt

    monkeypatch.setattr(publish, "audit_all", interrupted)
    with pytest.raises(KeyboardInterrupt, match=r"2 of 5 ended; missing: b-unbounded, c-fails"):
        publish.run({}, 1, OutputOptions(directory=str(tmp_path), quiet=True))
    assert {path.name for path in tmp_path.iterdir()} == {
        "a-holds", "index.html", "index.json", "index.md",
    }  # fmt: skip
    for kind in ("html", "md"):
        text = (tmp_path / f"index.{kind}").read_text().replace("\\", "")
        assert "Interrupted, 2 of 5. Missing: b-unbounded (not run); c-fails (not run)" in text


def test_settings_that_mean_something_else_for_each_claim_are_refused():
    with pytest.raises(InvalidArgument, match=r"epsilon: got 2\.0, expected nothing with --all"):
        publish.refuse_other_settings({"seed": 1, "epsilon": 2.0})


@pytest.mark.parametrize("targets", [[], ["huang2020-lemma5", "--all"]])
def test_either_names_or_all(dpaudit, targets):
    ran = dpaudit("audit", *targets)
    assert ran.status == 2
    assert "or else --all" in ran.err


BROKEN = ("--estimator", "event", "--trials", "500", "--seed", "3", "--set", "c0=0.05")
LOGISTIC = (
    "--set",
    "loss=logistic",
    "--set",
    "iterations=2",
)  # no certificate of its own: its shifts depend on the iterate


@pytest.mark.slow
def test_a_refutation_by_drawing_is_drawn_again(dpaudit, tmp_path):
    """The event bound has no certificate of its own: seed and counts are."""
    ran = dpaudit("audit", "huang2020-theorem6", *BROKEN, *LOGISTIC, "--out", str(tmp_path))
    assert ran.status == 1
    path = tmp_path / "certificate.json"
    ran = dpaudit("verify", str(path))
    assert ran.status == 0
    assert "huang2020-theorem6: verified, " in ran.out
    assert "on fresh draws" in ran.out

    content = json.loads(path.read_text())
    name = next(name for name in content["quantities"] if name.startswith("count: event"))
    content["quantities"][name] += 1
    path.write_text(json.dumps(content))
    ran = dpaudit("verify", str(path), "--reproduce")
    assert ran.status == 1
    assert name in ran.out


def test_one_audit_has_one_outcome():
    names = {"result", "certificate", "interrupted", "looks", "in_time"}
    assert AuditOutcome.__dataclass_fields__.keys() == names


def test_all_audits_together_have_one_error_probability(monkeypatch):
    """Two of the four draw; the others are computed and spend nothing."""
    monkeypatch.setattr(publish, "_is_drawing_outputs", lambda claim, settings: claim in "bd")
    asked = [(name, None, Settings(confidence=0.9)) for name in "abcd"]
    alphas = [1 - settings.confidence for _, _, settings in publish.split_index_confidence(asked)]
    assert alphas[1] == alphas[3] == pytest.approx(0.05)


def test_what_draws_is_known_before_anything_runs():
    assert publish._is_drawing_outputs("huang2020-theorem6", Settings())
    assert not publish._is_drawing_outputs("hu2020-lemma1", Settings())
    assert not publish._is_drawing_outputs("huang2020-theorem6", Settings(data_path="nowhere"))


def test_the_index_says_what_its_confidence_is(published):
    _, folder = published
    for kind in ("html", "md"):
        text = (folder / f"index.{kind}").read_text()
        assert "none is left to chance" in text
    entries = read_index(folder / "index.json")
    assert {entry["alpha"] for entry in entries if entry["verdict"]} == {0}
