"""Accounts of the registry's records: facts and no text, a page of them, and what is withheld."""

import functools
import json
import re
import shlex
from datetime import date

import pytest

from dpaudit.cli.main import app
from dpaudit.deployments.judgement import make_judgement
from dpaudit.deployments.publishing import facts_in, records_in, write_drafts, write_public_accounts
from dpaudit.deployments.reading import read_facts
from dpaudit.formats import read_json
from tests.deployments.invented import PLANTED, SOUND, write_record
from tests.deployments.pages import ACCOUNTS, PAGE, judgements_of, page_of

_KEY = re.compile(r"[\w./:;#?=&%+~@,()-]*")  # of a key, a path or an address: no sentence


@functools.cache
def stored():
    """Return the judgements of all accounts."""
    return judgements_of()


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


def test_every_record_has_an_account_with_its_address():
    assert len(stored()) == 41
    for one in stored():
        assert one.facts.address.endswith(f"/deployments/{one.facts.record}.yaml")
        assert one.facts.sources or "deployment.administrative.sources" not in one.facts.unread


def test_accounts_hold_numbers_keys_and_addresses_and_no_text():
    for path in ACCOUNTS.glob("*.json"):
        facts = read_json(path, "deployment")["facts"]
        for one in strings({key: each for key, each in facts.items() if key != "status"}):
            number = one.replace(" ", "").replace("×", "").replace("*", "").replace("^", "")
            assert _KEY.fullmatch(number), (path.name, one)
            assert len(one.split()) <= 5, (path.name, one)


def test_the_page_is_made_of_the_accounts():
    assert PAGE.read_text(encoding="utf-8") == page_of()


def test_what_is_withheld_stands_nowhere():
    withheld = [one for each in stored() for one in each.discrepancies]
    page = PAGE.read_text(encoding="utf-8")
    assert f"{len(withheld)} findings under disclosure" in page
    for one in withheld:
        assert one.words not in page
    for path in ACCOUNTS.glob("*.json"):
        assert read_json(path, "deployment").keys() <= {"schema", "facts", "missing"}


def gallery(tmp_path, embargo):
    """Return two judgements, one of which does not agree, and a folder with this embargo."""
    paths = []
    for name, content in (("wrong", PLANTED["queries"][2]), ("right", SOUND["days"])):
        folder = tmp_path / name
        folder.mkdir()
        paths.append(write_record(folder, content).rename(tmp_path / f"{name}.yaml"))
    accounts = tmp_path / "accounts"
    accounts.mkdir()
    (accounts / "registry.toml").write_text(f"embargo = {embargo}\n")
    return [make_judgement(read_facts(path)) for path in paths], accounts


@pytest.mark.parametrize(
    ("embargo", "lifted"),
    [("true", False), ("false", True), ("2031-06-01", True), ("2031-06-02", False)],
)
def test_an_embargo_withholds_until_it_is_lifted(tmp_path, embargo, lifted):
    judgements, accounts = gallery(tmp_path, embargo)
    today = date(2031, 6, 1)
    assert write_public_accounts(judgements, accounts, today) is lifted
    account = json.loads((accounts / "wrong.json").read_text())
    assert ("verdict" in account) is lifted
    page = page_of(accounts, today)
    (found,) = judgements[0].discrepancies
    assert (found.words in page) is lifted
    assert ("| does not |" in page, "| agrees |" in page) == (lifted, lifted)


def test_letters_are_their_owner_s_alone(tmp_path):
    judgements, _ = gallery(tmp_path, "true")
    (letter,) = write_drafts(judgements, tmp_path / "disclosure")
    assert (letter.name, letter.stat().st_mode & 0o777) == ("wrong.md", 0o600)
    assert judgements[0].discrepancies[0].words in letter.read_text()
    assert (letter.parent / ".gitignore").read_text() == "*\n"


def test_an_account_is_judged_as_its_record_was(tmp_path):
    judgements, accounts = gallery(tmp_path, "true")
    write_public_accounts(judgements, accounts)
    again = [make_judgement(facts_in(path)) for path in records_in(accounts)]
    assert {one.facts.record: one.verdict for one in again} == {
        "wrong": "does not",
        "right": "agrees",
    }
    assert {one.facts.record: one.checks for one in again} == {
        one.facts.record: one.checks for one in judgements
    }


# Commands


def commands():
    """Return each command of the accounts' checks, with the number that it has to print."""
    found = {}
    for judgement in stored():
        for one in judgement.checks:
            if one.command:
                found[one.command] = one.computed
    return found


@pytest.mark.slow
def test_every_command_prints_its_number(dpaudit):
    asked = commands()
    assert len(asked) > 10
    for command, computed in asked.items():
        words = shlex.split(command)
        printed = json.loads(dpaudit(*words[1:], "--json").out)
        numbers = [one["upper"] for one in printed["answers"] if one.get("upper") is not None]
        numbers += [one for one in printed["total"].values() if one is not None]
        close = [float(one) == pytest.approx(computed, rel=1e-6) for one in numbers]
        assert computed in (0.0, float("inf")) or any(close), command


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_every_command_of_a_planted_record_prints_its_number(name, dpaudit, tmp_path):
    code, _, content = PLANTED[name]
    for one in make_judgement(read_facts(write_record(tmp_path, content))).discrepancies:
        if not one.command or code == "pure-delta":
            continue
        printed = json.loads(dpaudit(*shlex.split(one.command)[1:], "--json").out)
        numbers = [each["upper"] for each in printed["answers"] if each.get("upper") is not None]
        numbers += [each for each in printed["total"].values() if each is not None]
        assert any(float(each) == pytest.approx(one.computed, rel=1e-6) for each in numbers)


def test_a_record_is_shown_with_lines_and_a_status(dpaudit, tmp_path):
    path = write_record(tmp_path, PLANTED["statement: parts"][2])
    ran = dpaudit("deployment", str(path))
    assert (ran.status, ran.err) == (1, "")
    assert "1 + 2 = 3; the record says 2" in ran.out
    assert "epsilon = 2 (2) at epsilon, line 2" in ran.out
    path = write_record(tmp_path, SOUND["parts"] + "colour: red\n")
    ran = dpaudit("deployment", str(path))
    assert (ran.status, "Not read: colour" in ran.out) == (0, True)


def test_a_folder_is_all_its_records_and_one_that_is_damaged_is_named(dpaudit, tmp_path):
    write_record(tmp_path, SOUND["parts"])
    ran = dpaudit("deployment", str(tmp_path), "--short")
    assert (ran.status, ran.out.count("\n")) == (0, 1)
    (tmp_path / "damaged.yaml").write_text("a: [")
    ran = dpaudit("deployment", str(tmp_path), "--json", "--out", str(tmp_path / "out"))
    assert (ran.status, "damaged.yaml" in ran.err) == (2, True)
    (shown,) = json.loads(ran.out)["records"]
    assert shown["verdict"] == "agrees"
    assert read_json(tmp_path / "out" / "record.json", "deployment")["verdict"] == "agrees"


def test_what_a_record_holds_moves_no_cursor(dpaudit, tmp_path):
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"\x1b[2Jepsilon": 1, "epsilon": 1, "variant": "pure", "a\nb": "x"}))
    ran = dpaudit("deployment", str(path))
    assert "\x1b" not in ran.out
    assert ran.status == 0


def test_the_command_is_installed():
    assert "deployment" in {one.name for one in app.registered_commands}
