"""Parts of SmartNoise Synth as its documentation tells people to call them.

Imports nothing of dpaudit: this runs where that is not installed.
"""

import contextlib
import io

import numpy
import pandas
from snsynth.transform import (
    BinTransformer,
    LabelTransformer,
    MinMaxTransformer,
    StandardScaler,
    TableTransformer,
)


def min_max(data, epsilon, lower, upper):
    transformer = MinMaxTransformer(lower=lower, upper=upper, epsilon=epsilon)
    transformer.fit(data)
    return transformer.fit_lower, transformer.fit_upper


def bins(data, epsilon, lower, upper):
    transformer = BinTransformer(lower=lower, upper=upper, epsilon=epsilon)
    transformer.fit(data)
    return transformer.fit_lower, transformer.fit_upper, transformer.cardinality


def standard_scaler(data, epsilon, lower, upper):
    scaler = StandardScaler(lower=lower, upper=upper, epsilon=epsilon)
    scaler.fit(data)
    return scaler.mean, scaler.var


def labels(data, nullable):
    transformer = LabelTransformer(nullable=nullable)
    transformer.fit(data)
    return transformer.categories


def mwem(data, epsilon, iterations, lower, upper, number_of_bins, rows):
    from snsynth.mwem import MWEMSynthesizer

    column = BinTransformer(bins=number_of_bins, lower=lower, upper=upper)
    synthesizer = MWEMSynthesizer(epsilon=epsilon, iterations=iterations)
    table = numpy.array([[value] for value in data], dtype=float)
    synthesizer.fit(table, transformer=TableTransformer([column]))
    return synthesizer.sample(rows)[:, 0]


def mst(data, epsilon, delta):
    from snsynth.mst import MSTSynthesizer

    synthesizer = MSTSynthesizer(epsilon=epsilon, delta=delta)
    synthesizer.fit(numpy.array(data), categorical_columns=[0, 1])
    return synthesizer.sample()


def aim(data, epsilon, delta, rounds):
    from snsynth.aim import AIMSynthesizer

    synthesizer = AIMSynthesizer(epsilon=epsilon, delta=delta, rounds=rounds)
    with contextlib.redirect_stdout(io.StringIO()):
        synthesizer.fit(numpy.array(data), categorical_columns=[0, 1])
    return synthesizer.sample()


def covariance(data, epsilon, ranges):
    from snsynth.models.dp_covariance import DPcovariance

    names = [f"c{number}" for number in range(len(ranges))]
    frame = pandas.DataFrame(data, columns=names)
    limits = pandas.DataFrame(numpy.array(ranges).T)
    return DPcovariance(len(frame), names, limits, epsilon).release(frame)
