"""Wrong usage, which runs nothing."""

import pytest

from .ways import USAGE, Ways

WAYS = Ways()


@WAYS.end(2, USAGE, "error: claim: got 'nobody-lemma1', expected one of: .*")
def _a_claim_that_nobody_states(here):
    return here.run("audit", "nobody-lemma1")


@WAYS.end(2, USAGE, "error: claim: got 'nobody-lemma1', expected one of: .*")
def _a_claim_that_nobody_states_beside_a_good_one(here):
    ran = here.run("audit", here.audits("Broken"), "nobody-lemma1")
    assert ran.out == ""
    return ran


@WAYS.end(2, USAGE, r"error: gone\.toml: cannot be read \(No such file or directory\), expected .*")
def _a_file_that_is_missing(here):
    return here.run("audit", "gone.toml")


@WAYS.end(2, USAGE, r"error: bad\.toml: is not valid TOML: .*")
def _a_file_that_is_no_toml(here):
    (here.folder / "bad.toml").write_text("[audit")
    return here.run("audit", "bad.toml")


@WAYS.end(2, USAGE, r"error: bad\.toml: is not valid TOML: a number too long, or nested too deep")
def _a_number_that_is_too_long(here):
    (here.folder / "bad.toml").write_text("audit = " + "9" * 5000)
    return here.run("audit", "bad.toml")


@WAYS.end(2, USAGE, r"error: bad\.toml: is not valid TOML: a number too long, or nested too deep")
def _lists_that_are_nested_too_deep(here):
    (here.folder / "bad.toml").write_text("audit = " + "[" * 3000)
    return here.run("audit", "bad.toml")


@WAYS.end(2, USAGE, r"error: --out: got '', expected the name of a folder, such as --out report.*")
def _no_name_for_out(here):
    return here.run("audit", here.audits("Broken"), "--out", "")


@WAYS.end(2, USAGE, r"error: No such option: --bogus.*")
def _an_option_that_there_is_not(here):
    return here.run("audit", "--bogus")


@WAYS.end(2, USAGE, r"error: No such command 'judge'.*")
def _a_command_that_there_is_not(here):
    return here.run("judge")


@WAYS.end(2, USAGE, r"error: targets: got \[\], expected names of claims or files, or else --all")
def _nothing_to_audit(here):
    return here.run("audit")


@WAYS.end(2, USAGE, r"error: NAME: got 'Lemma 1', expected PAPER-STATEMENT in small letters.*")
def _a_name_that_no_claim_can_have(here):
    return here.run("new", "claim", "Lemma 1")


@WAYS.end(2, USAGE, r"error: --into: got '.*', expected a folder without mean\.py")
def _a_new_claim_over_what_is_there(here):
    (here.folder / "smith2031").mkdir()
    (here.folder / "smith2031" / "mean.py").write_text("mine")
    ran = here.run("new", "claim", "smith2031-lemma1", "--into", here.folder)
    assert not (here.folder / "pyproject.toml").exists()
    return ran


@pytest.mark.parametrize("way", WAYS.cases)
def test_it_ends_as_the_page_says(here, way):
    assert way.complaints(way.ends(here)) == []
