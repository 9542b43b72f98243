"""How an audit is repeated: what it settles as it runs is a setting, and never an edit of text."""

import shlex

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpaudit
from dpaudit.auditing.api import own_case
from dpaudit.auditing.repeat.plan import CallPlan, CommandPlan, Wording
from dpaudit.auditing.run import audit_case
from dpaudit.cli.description import AuditCommand
from dpaudit.extension.setting_table import row_of
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import PureDP
from dpaudit.neighbours import REPLACE_RECORD, Pair

# Words that look like settings, quotes, brackets and flags.
WORDS = [
    *("declared: one visit, time=one day", "declared: looks=((1, 2))", "declared: unit=3)"),
    *("declared: it's --time 3 --unit 4", 'declared: "--looks" 1:2', "declared: trials=7, x"),
]
LOOKS = [(100, 0.1), (900, 0.8)]


def noisy_count(dataset, trials, rng):
    return dataset.sum() + rng.laplace(scale=2.0, size=trials)


def evaluated(text):
    """Return the settings that a call gives, by evaluating it."""
    names = {"f": lambda **given: given}
    return eval(text, names)


@pytest.mark.parametrize("relation", WORDS)
def test_a_call_with_any_words_takes_looks_unit_and_outputs(relation):
    asked = CallPlan({"relation": relation, "trials": 300, "time": 2.0}, "f(")
    settled = asked.with_looks(LOOKS).with_unit(16).updated(trials=50)
    expected = {"relation": relation, "trials": 50, "looks": tuple(LOOKS), "unit": 16}
    assert evaluated(str(settled)) == expected
    assert evaluated(str(asked)) == {"relation": relation, "trials": 300, "time": 2.0}


@pytest.mark.parametrize("relation", WORDS)
def test_a_command_with_any_words_takes_looks_unit_and_outputs(relation):
    asked = CommandPlan({"relation": relation, "time": 2.0}, ("own.toml",))
    words = shlex.split(str(asked.with_looks(LOOKS).with_unit(16)))
    assert words[:3] == ["dpaudit", "audit", "own.toml"]
    options = dict(zip(words[3::2], words[4::2], strict=True))
    assert options == {"--relation": relation, "--looks": "100:0.1,900:0.8", "--unit": "16"}


def test_a_unit_that_is_stated_stays():
    assert "--unit 8" in str(CommandPlan({"unit": 8}, ("c",)).with_unit(16))


def test_words_of_whoever_asks_stay_as_they_are():
    words = Wording(words="make audit TIME=3 --looks x")
    assert str(words.with_looks(LOOKS).with_unit(2)) == "make audit TIME=3 --looks x"


def test_an_audit_of_a_case_that_is_stopped_is_a_call_that_parses():
    line = str(CallPlan.of_case(Settings(seed=3, trials=400)).updated(trials=150))
    assert line == "audit_case(case, Settings(trials=150, seed=3))"
    given = eval(line, {"audit_case": lambda _, given: given, "Settings": Settings, "case": None})
    assert given == Settings(trials=150, seed=3)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "epsilon": st.floats(0.01, 9.0),
            "trials": st.integers(100, 10**6),
            "confidence": st.floats(0.5, 0.999),
            "seed": st.integers(0, 2**32),
            "relation": st.sampled_from(WORDS),
            "unit": st.integers(1, 99),
            "ignore": st.lists(st.sampled_from(["id", "at time", "a'b"]), min_size=1, unique=True),
        },
    )
)
def test_a_stored_command_is_the_line_that_repeats_it(options):
    described = AuditCommand.of({"targets": ["own.toml"], **options})
    assert described.line == str(CommandPlan(options, ("own.toml",)))
    words = shlex.split(described.line)
    for name, value in options.items():
        texts = value if isinstance(value, list) else [value]
        found = [words[at + 1] for at, word in enumerate(words) if word == row_of(name).flag]
        assert found == [str(one) for one in texts]


def test_the_call_of_an_audit_repeats_it():
    dataset, neighbour = np.array([0.0, 1.0]), np.array([1.0, 1.0])
    told = {"relation": "declared: one visit, time=one day", "trials": 400, "seed": 5}
    found = dpaudit.audit(noisy_count, dataset, neighbour, epsilon=1.0, **told)
    names = {"mechanism": noisy_count, "dataset": dataset, "neighbour": neighbour}
    again = eval(found.rerun, names | {"dpaudit": dpaudit})
    assert (again.counts, again.measured, again.rerun) == (
        found.counts,
        found.measured,
        found.rerun,
    )


def test_the_call_of_a_case_repeats_it():
    pair = Pair(np.array([0.0]), np.array([1.0]), REPLACE_RECORD)
    case, _ = own_case(noisy_count, pair, claimed=PureDP(1.0))
    found = audit_case(case, Settings(trials=400, seed=2))
    names = {"audit_case": audit_case, "case": case, "Settings": Settings}
    again = eval(found.rerun, names)
    assert (again.counts, again.rerun) == (found.counts, found.rerun)
