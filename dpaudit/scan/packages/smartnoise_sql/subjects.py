"""Parts of SmartNoise SQL as its documentation tells people to call them.

Imports nothing of dpaudit: this runs where that is not installed.
"""

import pandas
import snsql
from snsql import Privacy
from snsql.sql._mechanisms.approx_bounds import approx_bounds


def reader_of(data, epsilon, delta, columns, table):
    frame = pandas.DataFrame(data, columns=list(columns))
    metadata = {"": {"": {"people": {**table, **columns}}}}
    return snsql.from_df(frame, privacy=Privacy(epsilon=epsilon, delta=delta), metadata=metadata)


def query(data, epsilon, delta, columns, table, sql, trials):
    reader = reader_of(data, epsilon, delta, columns, table)
    return [reader.execute(sql) for _ in range(trials)]


def query_gaussian(data, epsilon, delta, columns, table, sql, trials):
    from snsql import Mechanism, Stat

    reader = reader_of(data, epsilon, delta, columns, table)
    for stat in (Stat.count, Stat.sum_int, Stat.sum_large_int, Stat.sum_float, Stat.threshold):
        reader.privacy.mechanisms.map[stat] = Mechanism.gaussian
    return [reader.execute(sql) for _ in range(trials)]


def session(data, epsilon, delta, columns, table, sql, budget, most, postprocess):
    reader = reader_of(data, epsilon, delta, columns, table)
    cost, _ = reader.get_privacy_cost(sql)
    answers = []
    while len(answers) < most and reader.odometer.spent[0] + cost <= budget:
        answers.append([list(row) for row in reader.execute(sql, postprocess=postprocess)])
    return answers


def laplace_count(data, epsilon, trials):
    from snsql.sql._mechanisms import Laplace

    mechanism = Laplace(epsilon, sensitivity=1)
    return mechanism.release([len(data)] * trials)


def laplace_sum(data, epsilon, lower, upper, trials):
    from snsql.sql._mechanisms import Laplace

    mechanism = Laplace(epsilon, sensitivity=max(abs(lower), abs(upper)))
    return mechanism.release([sum(min(max(value, lower), upper) for value in data)] * trials)


def gaussian_count(data, epsilon, delta, trials):
    from snsql.sql._mechanisms import Gaussian

    mechanism = Gaussian(epsilon, delta=delta, sensitivity=1)
    return mechanism.release([len(data)] * trials)


def gaussian_sum(data, epsilon, delta, lower, upper, trials):
    from snsql.sql._mechanisms import Gaussian

    mechanism = Gaussian(epsilon, delta=delta, sensitivity=max(abs(lower), abs(upper)))
    return mechanism.release([sum(min(max(value, lower), upper) for value in data)] * trials)


def bounds(data, epsilon):
    return approx_bounds(data, epsilon)
