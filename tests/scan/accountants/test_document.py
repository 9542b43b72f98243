"""The document of a scan, and what of it may be published."""

import json

import pytest

from dpaudit.errors import DataError
from dpaudit.scan.accountants.asking import MethodAnswer
from dpaudit.scan.accountants.card import AccountantCard, AccountantMethod, PublicFault
from dpaudit.scan.accountants.cases import AccountantQuestion, make_release_part
from dpaudit.scan.accountants.document import AccountantScan, make_accountant_scan
from dpaudit.scan.accountants.page import make_accountant_document as as_json
from dpaudit.scan.accountants.page import render_accountant_markdown, write_accountant_scan
from dpaudit.scan.accountants.publishing import publish_accountant_scan
from dpaudit.scan.accountants.scan import judge_all
from dpaudit.scan.publication.gallery import write_index


def scanned(known=(), worst=8.0, states="upper bound"):
    card = AccountantCard(
        name="synthetic",
        distribution="synthetic",
        versions=("1",),
        home="https://example.org",
        methods=(
            AccountantMethod(name="halved", states=states, where="its docstring", known=known),
            AccountantMethod(name="sound", states="upper bound", where="its docstring"),
        ),
    )
    questions = [
        AccountantQuestion((make_release_part("gaussian", 1.0, count=n),)) for n in (1, 10)
    ]
    answers = [
        MethodAnswer(method=name, question=question, outcome="answer", values=(value,), seconds=0.5)
        for name, values in (("halved", (2.0, worst)), ("sound", (5.0, 30.0)))
        for question, value in zip(questions, values, strict=True)
    ]
    return make_accountant_scan(card, "1", judge_all(card, answers), python="3.11", seconds=2.0)


def test_a_document_groups_what_is_wrong_and_says_how_loose_the_rest_is():
    found = scanned()
    (group,) = found.violations
    assert (group.method, group.asks, group.release, group.answers) == (
        "halved",
        "epsilon",
        "gaussian",
        2,
    )
    assert all(one.true_delta > 1e-5 for one in group.examples)
    sound = found.methods[1]
    assert (sound.asked, sound.answered, sound.judgements) == (2, 2, {"sound": 2})
    assert 1.1 < sound.excess < sound.most_excess < 2
    assert sound.seconds == 0.5


def test_a_document_survives_json_and_is_written(tmp_path):
    found = scanned()
    content = json.loads(json.dumps(as_json(found)))
    assert content["schema"] == 1
    assert type(found).model_validate({k: v for k, v in content.items() if k != "schema"}) == found
    page = write_accountant_scan(found, tmp_path)
    assert page.read_text(encoding="utf-8") == render_accountant_markdown(found)
    assert "halved" in render_accountant_markdown(found)


def test_infinite_answers_are_written_as_words(tmp_path):
    found = scanned(worst=float("inf"))
    assert found.methods[0].most_excess == float("inf")
    write_accountant_scan(found, tmp_path)
    text = (tmp_path / "accountant.json").read_text("utf-8")
    content = json.loads(text, parse_constant=pytest.fail)
    assert content.pop("schema") == 1
    assert content["methods"][0]["most_excess"] == "Infinity"
    assert type(found).model_validate(content) == found


def test_an_infinite_answer_is_published_as_a_word(tmp_path):
    thread = PublicFault(thread="https://example.org/1")
    found = scanned((thread,), worst=float("inf"), states="lower bound")
    text = publish_accountant_scan(found, tmp_path).with_suffix(".json").read_text("utf-8")
    (group,) = json.loads(text, parse_constant=pytest.fail)["violations"]
    assert ["Infinity"] in [one["answer"] for one in group["examples"]]


def test_what_has_no_public_thread_is_not_published():
    published = scanned().published().model_dump(mode="json")
    assert (published["under_disclosure"], published["violations"]) == (1, [])
    text = json.dumps(published["violations"]) + json.dumps(
        {key: value for key, value in published.items() if key != "methods"}
    )
    assert "halved" not in text
    assert "verdicts" not in json.dumps(published)
    named = {one["name"]: set(one) for one in published["methods"]}
    assert named["halved"] == named["sound"]  # nothing tells the two apart


@pytest.mark.parametrize(
    ("known", "hidden"),
    [
        (PublicFault(thread="https://example.org/1"), False),
        (PublicFault(thread="tests/a_test_that_knows.py"), True),
        (PublicFault(thread="https://example.org/1", kinds=("gaussian",)), False),
        (PublicFault(thread="https://example.org/1", kinds=("laplace",)), True),
        (PublicFault(thread="https://example.org/1", asks=("renyi",)), True),
    ],
)
def test_a_thread_lifts_what_it_is_about_and_nothing_else(known, hidden):
    published = scanned((known,)).published().model_dump(mode="json")
    assert published["under_disclosure"] == int(hidden)
    assert bool(published["violations"]) is not hidden


@pytest.mark.parametrize("known", [(), (PublicFault(thread="https://example.org/1"),)])
def test_a_gallery_lists_accountants_and_tells_what_is_public(tmp_path, known):
    page = publish_accountant_scan(scanned(known), tmp_path)
    assert page == tmp_path / "synthetic-1-accountant" / "accountant.md"
    (entry,) = json.loads((tmp_path / "index.json").read_text())["accountants"]
    assert (entry["false_claims"], entry["under_disclosure"]) == ((1, 0) if known else (0, 1))
    assert (tmp_path / entry["report"]).exists()
    for name in ("index.md", "index.html"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "synthetic 1" in text
        assert ("halved" in text) is bool(known)
        assert ("under disclosure" in text) is not bool(known)


def test_a_damaged_accountant_of_a_gallery_is_refused(tmp_path):
    page = publish_accountant_scan(scanned(), tmp_path)
    page.with_name("accountant.json").write_text('{"schema": 1, "accountant": 3}')
    with pytest.raises(DataError, match="accountant"):
        write_index(tmp_path)


def test_a_file_of_an_earlier_version_is_read():
    """What it calls a verdict is a judgement now: a verdict is on a claim."""
    written = json.loads(scanned().model_dump_json())
    assert {one["judgement"] for one in written["violations"]} == {"under"}
    former = json.loads(json.dumps(written).replace('"judgement', '"verdict'))
    assert AccountantScan.model_validate(former) == AccountantScan.model_validate(written)
