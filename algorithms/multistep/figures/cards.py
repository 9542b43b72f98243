"""The figures of Huang & Gong's multi-step DP-ADMM paper."""

from dpaudit.extension.figure import Figure

_SOURCE = "Huang & Gong, multi-step DP-ADMM, Figure {}"

FIGURE_1 = Figure(
    name="huang2020-figure1",
    title="utility against epsilon",
    source=_SOURCE.format(1),
    statements={"privacy costs utility": "a larger epsilon gives a smaller empirical risk"},
    run="dpaudit.algorithms.multistep.figures.runs:figure1",
)

FIGURE_2 = Figure(
    name="huang2020-figure2",
    title="number of inner steps at epsilon 1",
    source=_SOURCE.format(2),
    statements={"more steps help": "a larger l gives a smaller empirical risk at fixed epsilon"},
    run="dpaudit.algorithms.multistep.figures.runs:figure2",
)

FIGURE_3 = Figure(
    name="huang2020-figure3",
    title="multi-step DP-ADMM against its baselines",
    source=_SOURCE.format(3),
    statements={
        "better": "multi-step DP-ADMM has the smallest risk of all private algorithms",
        "steadier": "its runs differ least",
    },
    run="dpaudit.algorithms.multistep.figures.runs:figure3",
)
