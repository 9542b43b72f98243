"""The scan of SmartNoise Synth: transformers, synthesisers and the private covariance."""

from __future__ import annotations

from typing import Any

from dpaudit.extension.package import Package, PackageClaim, Parameters, Subject

_TRANSFORMS = (
    "docs of SmartNoise Synth, Data Transforms: a TableTransformer implements a differentially "
    "private reversible data transform; "
)
_SYNTHESIS = "docstring of {}: epsilon is the privacy budget of the synthesizer{}"
_COLUMN = ([1.0], [0.0, 1.0], [0.0] * 15 + [1.0] * 15, [float(number % 10) for number in range(40)])
_TWO_COLUMNS = [(number % 2, number // 2 % 2) for number in range(40)]
_INTERVALS = ((0.0, 1.0), (-10.0, 10.0))


def _get_synth_bounds(given: Parameters) -> tuple[float, float]:
    return given["lower"], given["upper"]


def _make_point_datasets(given: Parameters) -> tuple[Any, ...]:
    low = tuple(low for low, _ in given["ranges"])
    high = tuple(high for _, high in given["ranges"])
    return ([low, high], [low] * 10 + [high] * 10, [low] * 20)


def _make_transformer_subject(name: str, code: str) -> Subject:
    return Subject(
        name=name,
        code=code,
        claims=(
            PackageClaim(
                epsilon="epsilon",
                where=_TRANSFORMS + f"docstring of {name}: epsilon is the privacy budget to use to "
                "infer bounds",
            ),
        ),
        parameters=({"epsilon": 1.0, "lower": None, "upper": None},),
        datasets=_COLUMN,
        bounds=(-1e30, 1e30),
        relations=("add-remove-record",),
        trials=300,
        about="bounds of a column, where none are given",
    )


PACKAGE = Package(
    name="smartnoise-synth",
    distribution="smartnoise-synth",
    code="dpaudit.scan.packages.smartnoise_synth.subjects",
    versions=("1.0.8",),
    requirements=("torch==2.13.0", "scikit-learn"),
    home="https://github.com/opendp/smartnoise-sdk",
    subjects=(
        _make_transformer_subject("MinMaxTransformer", "min_max"),
        _make_transformer_subject("BinTransformer", "bins"),
        Subject(
            name="StandardScaler",
            code="standard_scaler",
            claims=(
                PackageClaim(
                    epsilon="epsilon",
                    where=_TRANSFORMS + "docstring of StandardScaler: some privacy budget is "
                    "always used to estimate the mean and variance; epsilon is the budget to use",
                ),
            ),
            parameters=tuple(
                {"epsilon": 1.0, "lower": lower, "upper": upper} for lower, upper in _INTERVALS
            ),
            datasets=lambda given: ([given["lower"]] * 10 + [given["upper"]] * 10,),
            bounds=_get_synth_bounds,
            trials=100,
            about="mean and variance of a column with given bounds",
        ),
        Subject(
            name="LabelTransformer",
            code="labels",
            claims=(
                PackageClaim(
                    epsilon=0.0,
                    where=_TRANSFORMS + "Declaring a TableTransformer: no privacy budget is used "
                    "by LabelTransformer, as odometer.spent is (0, 0)",
                ),
            ),
            parameters=({"nullable": True}, {"nullable": False}),
            datasets=(["a", "b"] * 10, ["a"] * 20),
            about="the categories of a column",
        ),
        Subject(
            name="MWEMSynthesizer",
            code="mwem",
            claims=(
                PackageClaim(epsilon="epsilon", where=_SYNTHESIS.format("MWEMSynthesizer", "")),
            ),
            parameters=tuple(
                {
                    "epsilon": 1.0,
                    "iterations": iterations,
                    "lower": 0.001,
                    "upper": 10.0,
                    "number_of_bins": 5,
                    "rows": 20,
                }
                for iterations in (2, None)
            ),
            datasets=([1.0], [1.0, 3.0], [1.0, 3.0] * 5, [1.0, 3.0] * 10 + [9.0]),
            bounds=_get_synth_bounds,
            nan=False,
            trials=100,
            about="synthetic rows of one column in bins that are given",
        ),
        Subject(
            name="MSTSynthesizer",
            code="mst",
            claims=(
                PackageClaim(
                    epsilon="epsilon",
                    delta="delta",
                    where=_SYNTHESIS.format("MSTSynthesizer", ", delta the privacy parameter"),
                ),
            ),
            parameters=({"epsilon": 0.5, "delta": 1e-9},),
            datasets=(_TWO_COLUMNS,),
            nan=False,
            trials=40,
            about="as many synthetic rows as the synthesizer makes by default",
        ),
        Subject(
            name="AIMSynthesizer",
            code="aim",
            claims=(
                PackageClaim(
                    epsilon="epsilon",
                    delta="delta",
                    where=_SYNTHESIS.format("AIMSynthesizer", ", delta the privacy parameter"),
                ),
            ),
            parameters=({"epsilon": 0.5, "delta": 1e-9, "rounds": 3},),
            datasets=(_TWO_COLUMNS,),
            nan=False,
            trials=40,
            about="as many synthetic rows as the synthesizer makes by default",
        ),
        Subject(
            name="DPcovariance",
            code="covariance",
            claims=(
                PackageClaim(
                    epsilon="epsilon",
                    relation="replace-record",
                    where="docstring of DPcovariance.make_covar_symmetric: a differentially "
                    "private release of the covariance matrix; its number of rows is an argument, "
                    "and the global epsilon is split evenly between its elements",
                ),
            ),
            parameters=tuple(
                {"epsilon": 1.0, "ranges": ranges}
                for ranges in (
                    ((0.0, 1.0), (0.0, 1.0)),
                    ((0.0, 1.0), (0.0, 1.0), (0.0, 1.0)),
                    ((0.0, 1.0), (0.0, 1000.0), (0.0, 1.0)),
                    ((-5.0, 5.0), (100.0, 101.0)),
                )
            ),
            datasets=_make_point_datasets,
            bounds=lambda given: dict(enumerate(given["ranges"])),
            relations=("replace-record",),
            trials=400,
            about="the noisy elements of a covariance matrix",
        ),
    ),
)
