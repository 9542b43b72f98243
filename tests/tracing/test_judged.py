"""Audits of the corpora: no end is false of any function, and where a law is read, it is sharp."""

import math

import pytest

from tests.tracing.auditing import READS_LAWS, audit_judged, false_ends, has_law
from tests.tracing.corpus_deceptions import DECEPTIONS
from tests.tracing.corpus_laws import LAWS
from tests.tracing.corpus_views import VIEWS
from tests.tracing.judged import Judged, exactly

pytestmark = pytest.mark.slow
reads_laws = pytest.mark.skipif(not READS_LAWS, reason="audits do not read laws")
SEEDS = range(20)
JUDGE_OUTPUTS = [name for name, case in LAWS.items() if case.reading == "outputs"]
WITH_LAW = [name for name, case in LAWS.items() if case.reading in ("outputs", "noisy values")]


@pytest.mark.parametrize("name", DECEPTIONS)
def test_no_end_is_false_of_a_deception(name):
    case = DECEPTIONS[name]
    results = [audit_judged(case, seed=seed) for seed in SEEDS]
    assert [false for one in results for false in false_ends(case, one)] == []


@pytest.mark.parametrize("name", [name for name, c in DECEPTIONS.items() if c.reading == "none"])
@reads_laws
def test_no_law_is_read_where_there_is_none(name):
    assert not has_law(audit_judged(DECEPTIONS[name])), DECEPTIONS[name].reason


@pytest.mark.parametrize("name", VIEWS)
def test_a_true_claim_about_a_view_is_never_refuted(name):
    results = [audit_judged(VIEWS[name], seed=seed) for seed in SEEDS[:5]]
    assert all(one is None or one.verdict != "refuted" for one in results)
    assert [false for one in results for false in false_ends(VIEWS[name], one)] == []


@pytest.mark.parametrize("name", LAWS)
def test_no_end_is_false_of_a_known_number(name):
    results = [audit_judged(LAWS[name], seed=seed) for seed in SEEDS[:3]]
    assert [false for one in results for false in false_ends(LAWS[name], one)] == []


@pytest.mark.parametrize("name", JUDGE_OUTPUTS)
@reads_laws
def test_a_law_that_is_read_is_within_two_percent(name):
    case = LAWS[name]
    result = audit_judged(case, trials=4000, confidence=0.95)
    assert has_law(result)
    assert result.measured.lower >= 0.98 * case.epsilon
    assert result.measured.upper is None or result.measured.upper <= 1.02 * case.epsilon


@pytest.mark.parametrize("name", JUDGE_OUTPUTS)
@reads_laws
def test_a_false_claim_is_refuted_by_a_law(name):
    result = audit_judged(LAWS[name], epsilon=0.9 * LAWS[name].epsilon)
    assert result is not None
    assert result.verdict == "refuted"


@reads_laws
def test_so_many_have_a_law():
    read = {name for name, case in LAWS.items() if has_law(audit_judged(case))}
    assert set(WITH_LAW) - read == set()
    assert len(read) >= 45


@reads_laws
def test_none_is_read_where_data_reach_the_outputs():
    leaks = [name for name, case in LAWS.items() if case.reading == "none"]
    assert [name for name in leaks if has_law(audit_judged(LAWS[name]))] == []


# That the harness sees what it is there for.


class _Ends:
    def __init__(self, lower, upper, verdict="not refuted"):
        self.measured, self.verdict = self, verdict
        self.lower, self.upper = lower, upper


@pytest.mark.parametrize(
    ("ends", "count"),
    [
        (_Ends(0.9, 1.1), 0),
        (_Ends(1.1, None), 1),
        (_Ends(0.5, 0.9), 1),
        (_Ends(1.2, 0.9), 2),
        (_Ends(1.2, 0.9, "withheld"), 0),
    ],
)
def test_a_false_end_is_seen(ends, count):
    case = Judged(None, None, None, exactly(1.0))
    assert len(false_ends(case, ends)) == count


def test_a_bound_from_below_frees_the_upper_end():
    case = Judged(None, None, None, exactly(math.inf), exactly(2.0), exactly(1.5))
    assert false_ends(case, _Ends(1.9, 1.6)) == []
    assert len(false_ends(case, _Ends(2.1, 1.4))) == 2
