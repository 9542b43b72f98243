"""``dpaudit verify`` says when a certificate is right, but not about the claim as published."""

import copy
import json
import re
import sys
from dataclasses import replace

import pytest

from dpaudit.auditing import audit_claim, run_claim
from dpaudit.auditing.repeat.certificate_draws import statistical_certificate
from dpaudit.datasets.catalogue import CATALOGUE, options_of
from dpaudit.errors import DataError, DpauditError
from dpaudit.execution import Executor
from dpaudit.extension.settings import WORST_CASE, Settings
from dpaudit.refutation import certificates_text
from dpaudit.verification import Reader, read, verify

STRICTER = "factor 0.5 makes it stricter"


@pytest.fixture(scope="module")
def half():
    settings = Settings(trials=300, parameters={"factor": 0.5})
    found = run_claim("huang2020-lemma5", settings, Executor())
    return json.loads(certificates_text((found.certificate,)))


@pytest.fixture
def written(tmp_path):
    def write(content, name="c.json"):
        path = tmp_path / name
        path.write_text(json.dumps(content))
        return str(path)

    return write


def test_the_command_names_what_is_not_the_papers(dpaudit, half, written):
    ran = dpaudit("verify", written(half))
    assert ran.status == 0
    assert f"verified, but not the claim as published ({STRICTER}): " in ran.out
    assert "0.5 times that of Lemma 5" in ran.out
    (listed,) = json.loads(dpaudit("verify", written(half), "--json").out)
    assert (listed["verified"], listed["refutes_as_published"]) == (True, False)
    assert listed["reservations"] == [STRICTER]


def test_a_file_named_like_an_entry_of_another_hides_nothing(dpaudit, half, written):
    bad = copy.deepcopy(half)
    bad["quantities"]["ratio"] = 7.0
    ran = dpaudit("verify", written([bad], "c.json"), written(half, "c.json[0]"))
    assert ran.status == 1
    assert "fails" in ran.out


# Counts that are drawn again


@pytest.fixture(scope="module")
def counted():
    settings = Settings(
        trials=300,
        confidence=0.5,
        estimator="event",
        seed=3,
        parameters={"factor": 0.01, "c0": 0.05},
    )
    result = audit_claim("huang2020-theorem6", settings)
    return json.loads(certificates_text((statistical_certificate(result, settings),)))


def test_counts_are_judged_on_draws_and_a_confidence_of_the_readers(counted, written):
    """The file asks for 50% and names its seed; the reader has another, and 99.9999%."""
    (found,) = read(written(counted))
    again = verify(found, Reader(seed=17))
    assert again.verified
    assert "on fresh draws (seed 17), at 1 - 1e-6 confidence" in again.summary
    assert "(with factor = 0.01, c0 = 0.05)" in again.summary
    assert again.reservations == (
        "factor 0.01 makes it stricter",
        "c_0 = 0.05, below the 0.990448 of the proof",
    )


def test_the_draws_are_those_of_the_readers_seed(counted, written):
    (found,) = read(written(counted))
    asked = Settings.read(counted["instance"]["settings"])
    fresh = audit_claim(found.claim, replace(asked, seed=17, confidence=0.999999))
    own = audit_claim(found.claim, replace(asked, confidence=0.999999))
    again = verify(found, Reader(seed=17))
    assert again.ratio == fresh.measured.lower / fresh.claimed.epsilon
    assert again.ratio != own.measured.lower / own.claimed.epsilon


def test_nobody_chooses_the_seed_where_the_reader_does_not():
    assert Reader().seed != Reader().seed
    assert Reader().confidence == 0.999999


@pytest.mark.slow
def test_a_lucky_seed_does_not_verify(written, monkeypatch):
    """At 50% about every second seed refutes a true claim; the luckiest goes into the file."""
    settings = Settings(trials=300, confidence=0.5, estimator="event", parameters={"c0": 3.0})
    lucky = replace(settings, seed=3)
    result = replace_verdict(audit_claim("huang2020-theorem6", lucky))
    certificate = json.loads(certificates_text((statistical_certificate(result, lucky),)))
    (found,) = read(written(certificate))
    for seed in range(3):
        again = verify(found, Reader(seed=seed))
        assert [one.split(":")[0] for one in again.failures] == ["the claim is not refuted"]


def replace_verdict(result):
    return result.model_copy(update={"verdict": "refuted"})


@pytest.mark.sampled(1)
@pytest.mark.parametrize("factor", ["0.01", 0.01])
def test_a_factor_in_words_is_one_too(counted, written, factor):
    counted = copy.deepcopy(counted)
    counted["instance"]["settings"]["parameters"]["factor"] = factor
    (found,) = read(written(counted))
    assert "factor 0.01 makes it stricter" in verify(found).reservations


@pytest.mark.slow
def test_its_own_seed_reproduces_its_counts_and_no_others(counted, written):
    (found,) = read(written(counted))
    assert verify(found, reproduce=True).failures == ()
    counted = copy.deepcopy(counted)
    counted["quantities"]["value"] *= 2
    (found,) = read(written(counted))
    assert verify(found).verified
    (failure,) = verify(found, reproduce=True).failures
    assert failure.startswith("value: the file states ")


def test_an_audit_that_refutes_nothing_is_no_certificate(counted, written):
    counted = copy.deepcopy(counted)
    counted["instance"]["settings"]["parameters"] = {}
    (found,) = read(written(counted))
    assert any(one.startswith("the claim is not refuted: ") for one in verify(found).failures)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"trials": 10**9}, "instance.settings.trials: got 1000000000, expected at most 1000000"),
        ({"candidate_pairs": 10**6}, "instance.settings.pairs: got 1000000, expected at most 1000"),
        ({"parameters": {"iterations": 10**8}}, "parameters.iterations: got 100000000"),
    ],
)
def test_a_file_cannot_ask_for_endless_work(counted, written, changed, named):
    counted = copy.deepcopy(counted)
    counted["instance"]["settings"] |= changed
    (found,) = read(written(counted))
    with pytest.raises(DataError, match=re.escape(named)):
        verify(found)


def test_an_audit_that_takes_too_long_is_refused(counted, written):
    (found,) = read(written(counted))
    with pytest.raises(DataError, match="takes too long to draw again"):
        verify(found, Reader(seconds=1e-9))


def test_no_path_of_the_file_is_taken(counted, written, tmp_path, monkeypatch):
    """The place of the data is the reader's."""
    monkeypatch.delenv("DPAUDIT_DATA", raising=False)
    named = tmp_path / "named-by-the-file"
    counted = copy.deepcopy(counted)
    counted["instance"]["settings"] |= {"data": "adult", "data_path": str(named)}
    (found,) = read(written(counted))
    with pytest.raises(DataError) as refused:
        verify(found, Reader(data_path=str(tmp_path / "the-readers")))
    assert "the-readers" in str(refused.value)
    assert "named-by-the-file" not in str(refused.value)


@pytest.fixture(scope="module")
def opened():
    """Return the names of the files that this process opens from here on."""
    names = []
    sys.addaudithook(lambda event, given: names.append(given[0]) if event == "open" else None)
    return names


OPTIONS = [(data, option) for data in CATALOGUE for option in (*options_of(data), "path", "file")]


@pytest.mark.parametrize(("data", "option"), [*OPTIONS, (WORST_CASE, "path"), ("own", "file")])
def test_no_option_of_the_file_is_opened(counted, written, tmp_path, opened, data, option):
    mine, secret = tmp_path / "mine.csv", tmp_path / "secret.csv"
    for path in (mine, secret):
        path.write_text("height,ill\n1.5,1\n2.0,-1\n")
    counted = copy.deepcopy(counted)
    counted["instance"]["settings"] |= {"data": data, "data_options": {option: str(secret)}}
    (found,) = read(written(counted))
    with pytest.raises(DpauditError):
        verify(found, Reader(data_path=str(mine)))
    assert str(secret) in map(str, opened)  # as it was written
    assert [str(name) for name in opened].count(str(secret)) == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"path": "x"}, "data_option: got {'path': 'x'}, expected options by name without path"),
        (["path"], "instance.settings.data_options: got ['path'], expected an object"),
        ({"source": "x"}, "instance.settings.data_options.source: got 'x', expected a word or num"),
        ({"split": ["test"]}, "instance.settings.data_options.split: got ['test'], expected a wor"),
    ],
)
def test_options_that_are_refused_are_named(counted, written, options, named):
    counted = copy.deepcopy(counted)
    counted["instance"]["settings"] |= {"data": "a9a", "data_options": options}
    (found,) = read(written(counted))
    with pytest.raises(DpauditError, match=re.escape(named)):
        verify(found)


@pytest.mark.parametrize("version", ["corrected", "published"])
def test_the_ratio_of_negative_numbers_is_no_quotient(version):
    """-2 is below -1, however large their quotient."""
    settings = Settings(trials=400, parameters={"version": version})
    result = audit_claim("hu2019-lemma4", settings)
    assert result.claimed.value < 0
    ratio = statistical_certificate(result, settings).quantities["ratio"]
    assert (ratio > 1) == (result.verdict == "refuted")
