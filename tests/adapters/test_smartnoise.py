"""SmartNoise: the adapters on stand-ins, and SmartNoise SQL itself where it is installed."""

import numpy as np
import pytest

from dpaudit import Pair, relation
from dpaudit.adapters.smartnoise import SmartNoiseQuery, SmartNoiseSynthesis, first_row
from dpaudit.errors import InvalidArgument
from dpaudit.testing import assert_not_refuted

RNG = np.random.default_rng(0)
QUERY = "SELECT COUNT(*) AS n FROM people"


class Reader:
    """Answers with the size of its data, and how often it was asked."""

    def __init__(self, dataset):
        self.size, self.asked = len(dataset), 0

    def execute(self, query):
        assert query == QUERY
        self.asked += 1
        return [["n", "asked"], [self.size, self.asked]]

    def get_privacy_cost(self, query):
        return 0.5, 0.0


def test_a_query_is_answered_in_every_trial_by_one_reader():
    mechanism = SmartNoiseQuery(Reader, QUERY)
    drawn = mechanism.sample([1, 2, 3], 4, RNG)
    np.testing.assert_array_equal(drawn, [[3, 1], [3, 2], [3, 3], [3, 4]])
    assert mechanism.claimed_epsilon([]) == 0.5


def test_groups_that_were_dropped_ask_for_what_reads_them():
    with pytest.raises(InvalidArgument, match="a row: give `read`"):
        first_row([["city", "n"]])
    counted = SmartNoiseQuery(Reader, QUERY, read=lambda answer: len(answer) - 1)
    np.testing.assert_array_equal(counted.sample([], 2, RNG), [1, 1])


def test_a_synthesiser_is_fitted_in_every_trial():
    fitted = []

    def fit(dataset):
        fitted.append(dataset)
        return len(fitted)

    drawn = SmartNoiseSynthesis(fit, lambda one: [one, -one]).sample([7], 3, RNG)
    np.testing.assert_array_equal(drawn, [[1, -1], [2, -2], [3, -3]])
    assert fitted == [[7]] * 3


def connect(dataset):
    import pandas
    import snsql

    metadata = {"": {"": {"people": {"row_privacy": True, "censor_dims": False, "age": AGE}}}}
    frame = pandas.DataFrame({"age": dataset})
    privacy = snsql.Privacy(epsilon=20.0, delta=1e-5)
    return snsql.from_df(frame, privacy=privacy, metadata=metadata)


AGE = {"type": "int", "lower": 0, "upper": 100}


@pytest.mark.slow  # a tenth of a second an answer
def test_a_sum_keeps_its_epsilon_and_not_a_fortieth_of_it():
    pytest.importorskip("snsql", reason="pip install 'dpaudit[smartnoise-sql]'")
    mechanism = SmartNoiseQuery(connect, "SELECT SUM(age) AS total FROM people")
    assert mechanism.claimed_epsilon([20]) == 20.0
    records = Pair([100] * 3, [100] * 4, relation("add-remove-record"))
    assert_not_refuted(mechanism, records, 20.0, 0.0, trials=100)
    with pytest.raises(AssertionError, match=r"^refuted"):
        assert_not_refuted(mechanism, records, 0.5, 0.0, trials=100)
