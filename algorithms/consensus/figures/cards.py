"""The figures of Zhang, Khalili & Liu's paper on penalty perturbation (ICML 2018)."""

from dpaudit.extension.figure import Figure

_SOURCE = "Zhang, Khalili & Liu, penalty perturbation (ICML 2018), Figure {}"
_BOTH = {
    "both at once": "with suitable q1 and q2, PP has a smaller loss than DVP and a smaller P(T)",
    "trade-off": "at the same penalty a smaller loss comes with a larger P(T), under either method",
}

FIGURE_1 = Figure(
    name="zhang2018-figure1",
    title="convergence of M-ADMM",
    source=_SOURCE.format(1),
    statements={
        "converges": "M-ADMM converges with private, increasing penalties",
        "other steps": "so it does with a dual step that varies, or differs between nodes",
        "slows down": "a faster increase of the penalty slows convergence down",
    },
    run="dpaudit.algorithms.consensus.figures.runs:figure1",
)

FIGURE_2 = Figure(
    name="zhang2018-figure2",
    title="accuracy and privacy of PP and DVP, five nodes",
    source=_SOURCE.format(2),
    statements=_BOTH,
    run="dpaudit.algorithms.consensus.figures.noise:figure2",
)

FIGURE_3 = Figure(
    name="zhang2018-figure3",
    title="PP and DVP on 100 nodes, records spread evenly",
    source=_SOURCE.format(3),
    statements=_BOTH,
    run="dpaudit.algorithms.consensus.figures.noise:figure3",
)

FIGURE_4 = Figure(
    name="zhang2018-figure4",
    title="PP and DVP on 100 nodes, records spread unevenly",
    source=_SOURCE.format(4),
    statements=_BOTH | {"uneven costs": "P(T) is larger than with evenly spread records"},
    run="dpaudit.algorithms.consensus.figures.noise:figure4",
)
