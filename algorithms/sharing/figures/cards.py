"""The figures of Hu et al.'s ADMM sharing paper (NeurIPS 2020, section 5).

`dpaudit.algorithms.sharing.figures.data` says which files they read.
"""

from dpaudit.extension.figure import Figure

_SOURCE = "Hu et al., ADMM sharing over distributed features (NeurIPS 2020), Figure {}"

FIGURE_1 = Figure(
    name="hu2020-figure1",
    title="ADMM sharing against FDML on a9a",
    source=_SOURCE.format(1),
    statements={
        "slower on a9a": "ADMM is slower than SGD on a9a",
        "only slightly": "on a9a ADMM is slower only slightly",
        "same end": "both end at the same test log loss",
    },
    run="dpaudit.algorithms.sharing.figures.convergence:figure1",
)

FIGURE_2 = Figure(
    name="hu2020-figure2",
    title="ADMM sharing against FDML on wide data",
    source=_SOURCE.format(2),
    statements={
        "fewer epochs": "on wide data ADMM converges in fewer epochs than SGD",
        "better end": "on wide data ADMM's test log loss is at most SGD's at the end",
    },
    run="dpaudit.algorithms.sharing.figures.convergence:figure2",
)

FIGURE_3 = Figure(
    name="hu2020-figure3",
    title="test performance of ADMM sharing under noise",
    source=_SOURCE.format(3),
    statements={
        "moderate noise on a9a": "on a9a ADMM still converges and beats party 1 with some noise",
        "too much noise on a9a": "on a9a too much noise ruins the model",
        "more features on a9a": "on a9a features of others lower the test loss by 5% or more",
        "moderate noise on wide data": (
            "on wide data ADMM still converges and beats party 1 with some noise"
        ),
        "too much noise on wide data": "on wide data too much noise ruins the model",
        "more features on wide data": (
            "on wide data features of others lower the test loss by 5% or more"
        ),
        "better than central": "on wide data ADMM beats the model trained centrally",
    },
    run="dpaudit.algorithms.sharing.figures.noise:figure3",
)
