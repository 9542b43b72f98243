"""Examples of mechanisms: the broken ones are refuted and the part that leaks is named."""

import importlib.util
from pathlib import Path

import pytest

import dpaudit

_FILE = Path(__file__).parents[2] / "examples" / "mechanisms.py"
_SPEC = importlib.util.spec_from_file_location("mechanisms_of_users", _FILE)
examples = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(examples)
QUICK = {"exceptions"}
NAMES = [
    one if one in QUICK else pytest.param(one, marks=pytest.mark.slow) for one in examples.AUDITS
]


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_one_is_refuted_and_its_part_is_named(name):
    broken, _, (dataset, neighbour), given = examples.AUDITS[name]
    result = dpaudit.audit(broken, dataset, neighbour, epsilon=1.0, trials=2000, **given)
    assert result.verdict == "refuted", result.reason
    assert any(examples.PARTS[name] in part for part in result.witness.parts), result.reason


@pytest.mark.parametrize("name", NAMES)
def test_a_repaired_one_is_not(name):
    _, repaired, (dataset, neighbour), given = examples.AUDITS[name]
    result = dpaudit.audit(repaired, dataset, neighbour, epsilon=1.0, trials=2000, **given)
    assert result.verdict == "not refuted", result.reason


def test_there_are_forty():
    assert len({id(one) for audit in examples.AUDITS.values() for one in audit[:2]}) == 40
    assert examples.AUDITS.keys() == examples.PARTS.keys()


def test_it_lists_them_and_names_what_there_is_not(capsys):
    examples.main([])
    assert capsys.readouterr().out.splitlines() == list(examples.AUDITS)
    with pytest.raises(SystemExit, match="there is no 'word'; there are: group means"):
        examples.main(["word"])


@pytest.mark.slow
def test_it_says_what_leaked(capsys):
    examples.main(["words"])
    broken, leaked, repaired = capsys.readouterr().out.splitlines()
    assert (broken, repaired) == ("words, broken: refuted", "words, repaired: not refuted")
    assert "What leaked: `output[#" in leaked
