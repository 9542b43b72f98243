"""The scan of Opacus.

Its accountants take the noise multiplier as the ratio of the noise to the sensitivity of a sum of
clipped gradients, with one record more or less. A step on all records is then Gaussian-private with
mu = 1/noise_multiplier; what sampling amplifies is left out of what is claimed here.
"""

import math
from collections.abc import Callable

from dpaudit.extension.package import MadePair, Package, PackageClaim, Parameters, Subject

_Pairs = Callable[[Parameters], tuple[MadePair, ...]]
_ADD_REMOVE = "add-remove-record"
_RELATIONS = (_ADD_REMOVE, "replace-record")  # what is claimed first
# Batch sizes.
_ALL = 8  # one batch of all records
_SAMPLED = 2  # two Poisson samples, each of a half
_WHERE = (
    "docstring of PrivacyEngine.make_private: noise_multiplier is the ratio of the noise's "
    "standard deviation to the L2 sensitivity of the function to which it is added; its "
    "accountants compose the sampled Gaussian mechanism, neighbours being one record more or less"
)


def _compute_opacus_mu(given: Parameters) -> float:
    steps = 2 if given.get("batch_size") == _SAMPLED else 1
    return math.sqrt(steps) / float(given["noise_multiplier"])


_CLAIM = PackageClaim(mu=_compute_opacus_mu, relation=_ADD_REMOVE, where=_WHERE)
_STEP = {"noise_multiplier": 1.0, "max_grad_norm": 1.0}
_TRAIN = {**_STEP, "batch_size": _ALL}
_RECORDS = ([(0.1, 1.0)] * 5, [(-1.0, 0.0), (1.0, 1.0), (0.5, 0.0), (2.0, 1.0), (0.0, 1.0)])


def _make_outlier_pairs(given: Parameters) -> tuple[MadePair, ...]:
    rest = [(0.1, 1.0)] * 4
    return tuple(
        MadePair(
            dataset=rest,
            neighbour=[*rest, (value, 1.0)],
            relation=_ADD_REMOVE,
            edit=f"one record more, whose feature is {value:g}",
        )
        for value in (1e4, 1e30)
    )


def _make_sampled_pairs(given: Parameters) -> tuple[MadePair, ...]:
    """Return pairs that Opacus samples at one rate, which follows from the number of records."""
    rest = [(0.1, 1.0), (-1.0, 0.0), (0.5, 1.0)]
    return tuple(
        MadePair(
            dataset=rest,
            neighbour=[*rest, (value, 1.0)],
            relation=_ADD_REMOVE,
            edit=f"one record more, whose feature is {value:g}",
        )
        for value in (0.1, -3.0, 100.0)
    )


def _make_token_pairs(given: Parameters) -> tuple[MadePair, ...]:
    rest = [(0, 0), (1, 1), (0, 1)]
    return tuple(
        MadePair(
            dataset=rest,
            neighbour=[*rest, (token, 1)],
            relation=_ADD_REMOVE,
            edit=f"one record more, whose token is {token}",
        )
        for token in (0, 2)
    )


_LOSSES = ("mse", "bce", "cross-entropy")
_TRAININGS: dict[str, tuple[_Pairs, tuple[Parameters, ...]]] = {
    "": (
        _make_outlier_pairs,
        (
            *({**_TRAIN, "loss": loss} for loss in _LOSSES),
            {**_TRAIN, "mode": "functorch"},
            {**_TRAIN, "clipping": "per_layer", "max_grad_norm": [1.0, 1.0]},
        ),
    ),
    " (ghost clipping)": (
        _make_outlier_pairs,
        tuple({**_TRAIN, "mode": "ghost", "loss": loss} for loss in _LOSSES),
    ),
    " (samples)": (
        _make_sampled_pairs,
        (
            {**_TRAIN, "batch_size": _SAMPLED},
            {**_TRAIN, "batch_size": _SAMPLED, "rand_on_empty": True},
        ),
    ),
    " (adaptive clipping)": (
        _make_sampled_pairs,
        (
            {**_TRAIN, "clipping": "adaptive"},
            {**_TRAIN, "clipping": "adaptive", "batch_size": _SAMPLED, "noise_multiplier": 20.0},
        ),
    ),
}

PACKAGE = Package(
    name="opacus",
    distribution="opacus",
    code="dpaudit.scan.packages.opacus.subjects",
    versions=("1.6.0",),
    requirements=("torch==2.13.0",),
    home="https://github.com/meta-pytorch/opacus",
    subjects=(
        Subject(
            name="optimizers.step",
            code="step",
            parameters=(
                _STEP,
                {**_STEP, "clipping": "per_layer"},
                {**_STEP, "clipping": "adaptive"},
                {**_STEP, "dtype": "float64"},
                {**_STEP, "dtype": "bfloat16"},
                {**_STEP, "secure": True},
            ),
            datasets=([(0.0, 0.0)], [(0.5, 0.5), (-1.0, 0.0)], [(3.0, -4.0)] * 3),
            bounds=(-1e3, 1e3),
            relations=_RELATIONS,
            claims=(_CLAIM,),
            additive=True,
            about="One step of an optimizer on per-sample gradients, which are the data.",
        ),
        *(
            Subject(
                name=f"PrivacyEngine.make_private{kind}",
                code="train",
                parameters=settings,
                datasets=_RECORDS if pairs is _make_outlier_pairs else (),
                bounds={1: (0.0, 1.0)},
                pairs=pairs,
                relations=_RELATIONS,
                claims=(_CLAIM,),
                trials=3_000 if pairs is _make_sampled_pairs else 1_000,
                about="An epoch of training: the weights of a linear model, from a public start.",
            )
            for kind, (pairs, settings) in _TRAININGS.items()
        ),
        Subject(
            name="PrivacyEngine.make_private (mean of the loss)",
            code="train",
            parameters=({**_TRAIN, "noise_multiplier": 4.0, "reduction": "mean"},),
            datasets=([(0.1, 1.0)] * 2, [(0.1, 1.0)] * 3),
            bounds={1: (0.0, 1.0)},
            nan=False,
            relations=_RELATIONS,
            claims=(_CLAIM,),
            trials=1_000,
            about="The same where gradients are divided by the expected size of a batch.",
        ),
        Subject(
            name="PrivacyEngine.make_private (embedding)",
            code="train_embedding",
            parameters=(_TRAIN, {**_TRAIN, "mode": "ghost"}, {**_TRAIN, "max_norm": 1.0}),
            pairs=_make_token_pairs,
            relations=(_ADD_REMOVE,),
            claims=(_CLAIM,),
            trials=1_000,
            about="An epoch of training: the table of an embedding, from a public start.",
        ),
    ),
)
