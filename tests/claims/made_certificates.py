"""Small certificates of claims, and the oracle of each: what `test_moved_claims` moves."""

from __future__ import annotations

import copy
import json
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import default_rng

import dpaudit.extension.registry as registry
from tests.claims import oracles_of_multistep as multistep
from tests.claims import oracles_of_networks as networks
from tests.claims import oracles_of_sharing as sharing

REPORTS = Path(__file__).parents[2] / "reports"


def published(name, number=0):
    content = json.loads((REPORTS / name / "certificate.json").read_text())
    return content[number] if isinstance(content, list) else content


def made(claim, kind, parameters, instance, **changes):
    """Return a certificate that states nothing yet of what its verifier recomputes."""
    card = registry.CLAIMS.get(claim)
    return {
        "format": "dpaudit-certificate", "version": 1, "claim": claim, "kind": kind,
        "source": card.source, "relation": card.relation, "quantities": {}, "assumptions": [],
        "parameters": parameters | changes, "instance": instance,
    }  # fmt: skip


# hu2019 and hu2020: three samples of two features and a party of one column beside them

DESIGN = [[0.28, 0.96], [0.96, -0.28], [0.28, -0.96]]
FLIPPED = [[-0.28, 0.96], *DESIGN[1:]]
SHARING = {
    "features": 2, "samples": 3, "penalty": 10.0, "regulariser_weight": 0.01, "bound": 1.0,
    "parties": 2, "curvature": 1.0, "factor": 0.01,
}  # fmt: skip
UPDATE = {
    "design": DESIGN, "neighbour": FLIPPED, "dual": [0.5, -0.25, 0.125],
    "prediction": [0.25, 0.125, -0.5], "others": [[1.0, -1.0, 1.0]], "models": [0.25],
}  # fmt: skip
LAW = {"variant": "message", "sensitivity": "published", "epsilon": 0.5, "delta": 1e-5}
MESSAGE = {"design": DESIGN, "neighbour": FLIPPED, "model": [0.75, -0.5]}
FIRST = {"features": 2, "samples": 3, "epsilon": 1.0, "delta": 1e-5, "factor": 1.0}
SECOND = FIRST | {"iterations": 20, "slack": 1e-5}
NORMS = {
    "bound": 1.0, "factor": 1.0, "penalty": 1.0, "regulariser_weight": 0.001, "scaling": "sum",
    "parties": 2, "epsilon": 1.0, "delta": 1e-5, "features": 4, "samples": 3,
}  # fmt: skip
BLOCKS = [[*one, *other] for one, other in zip(DESIGN, FLIPPED[::-1], strict=True)]
LABELLED = {"design": BLOCKS, "labels": [1.0, -1.0, 1.0]}
NOISY = LABELLED | {"perturbed": [3.0, -2.0, 0.5, 1.5]}
SENT = LABELLED | {"messages": [[2.0, -1.0, 0.5], [0.25, 3.0, -4.0]]}


def of_sharing():
    """Yield the name, the file and the oracle of claims about updates, messages and norms."""
    update = "sensitivity", SHARING, UPDATE
    yield "hu2020-lemma1", partial(made, "hu2020-lemma1", *update), sharing.lemma1
    yield "hu2019-lemma1", partial(made, "hu2019-lemma1", *update), sharing.lemma1_of_2019
    law = partial(made, "hu2020-theorem1", "approximate-dp", SHARING, UPDATE | {"epsilon": 0.006})
    yield "hu2020-theorem1", partial(law, **LAW), sharing.theorem1
    for claim, public, variant, oracle in (
        ("hu2020-theorem1", FIRST, "parameter", sharing.first_message),
        ("hu2019-theorem1", FIRST, "whitened", sharing.first_message),
        ("hu2020-corollary1", SECOND, "parameter", sharing.first_of_many_messages),
        ("hu2019-corollary1", SECOND, "whitened", sharing.first_of_many_messages),
    ):
        file = partial(made, claim, "support", public, MESSAGE, variant=variant)
        yield f"{claim}, a message", file, oracle
    for noise, instance in (("parameter", NOISY), ("whitened", NOISY), ("message", SENT)):
        file = partial(made, "hu2020-assumption1", "property", NORMS, instance, noise=noise)
        yield f"hu2020-assumption1, {noise}", file, sharing.assumption1


# Huang & Gong

STAR = {
    "nodes": 3, "iterations": 2, "inner_steps": 2, "records": 10**9, "epsilon": 1.0,
    "delta": 1e-5, "steepest": "sum", "penalty": 0.5, "slack": 1e-4,
}  # fmt: skip
CENTRE = {"target": [0.4, 0.2], "slopes": [1.0, 0.75, 0.5]}
NODE = {
    "loss": "logistic", "penalty": 0.5, "nodes": 3, "edges": 3, "node": 1, "node_size": 2,
    "dimension": 2, "factor": 0.25,
}  # fmt: skip
RECORD = {"record": [0.6, 0.8], "replacement": [-0.6, 0.8], "edges": [[0, 1], [1, 2], [0, 2]]}


def of_steps():
    """Return a file of Theorem 6, whose steps are those of two iterations of two inner steps."""
    own = {"loss": "linear", "epsilon": 1.0, "delta": 1e-5, "c0": 1.0, "iterations": 2}
    file = made("huang2020-theorem6", "approximate-dp", NODE, RECORD, inner_steps=2, **own)
    steps = {"eta": [0.5, 0.75, 1.0, 1.5]}
    return with_steps(
        file | {"instance": RECORD | steps, "quantities": {"epsilon": 0.4}}, default_rng(0), (1.0,)
    )


def with_steps(content, rng, reaches=(0.9, 1.0, 1.1)):
    """Return the file with what its steps have to be, and maybe another epsilon."""
    content = copy.deepcopy(content)
    try:
        with np.errstate(all="raise"):
            _state_steps(content["parameters"], content["instance"])
        content["quantities"]["epsilon"] *= float(rng.choice(reaches))
    except (ArithmeticError, KeyError, TypeError, ValueError):
        pass
    return content


def _state_steps(stated, instance):
    degree = sum(stated["node"] in edge for edge in instance["edges"])
    eta = np.array(instance["eta"]) + 2 * stated["penalty"] * degree
    unit, count = eta * stated["node_size"], stated["iterations"] * stated["inner_steps"]
    pair = [np.array(instance[name]) for name in ("record", "replacement")]
    here, there = (one / max(np.linalg.norm(one), 1.0) for one in pair)
    sigma = stated["c0"] * np.sqrt(2 * count * np.log(1.25 / stated["delta"]))
    instance["shift"] = (np.linalg.norm(here - there) / unit).tolist()
    instance["scale"] = (2 * sigma / stated["epsilon"] / unit).tolist()


def of_multistep():
    """Yield the name, the file and the oracle of claims of the multi-step paper."""
    for number, oracle in multistep.PROOF.items():
        if number in (32, 34):  # true as published
            sizes = {"version": "published", "inner_steps": 2, "neighbours": 1, "dimension": 1}
            instance = published("huang2020-equation36")["instance"]
            claim, factor = f"huang2020-equation{number}", {32: 0.5, 34: 2.0}[number]
            yield claim, partial(made, claim, "property", sizes, instance, factor=factor), oracle
        else:
            yield (
                f"huang2020-equation{number}",
                partial(published, f"huang2020-equation{number}"),
                oracle,
            )
    yield (
        "huang2020-equation36, larger",
        partial(published, "huang2020-equation36", 1),
        (multistep.PROOF[36]),
    )
    slope = RECORD | {"model": [0.5, -0.25]}
    for loss in ("linear", "logistic", "hinge", "smoothed-hinge", "absolute"):
        file = partial(made, "huang2020-lemma5", "sensitivity", NODE, slope, eta=0.75, loss=loss)
        yield f"huang2020-lemma5, {loss}", file, multistep.lemma5
    yield "huang2020-theorem6", of_steps, multistep.theorem6
    for claim, other, oracle in (
        ("theorem7", {"beta": 0.5, "factor": 0.05}, multistep.theorem7),
        ("note1", {"beta": 0.5, "factor": 0.05, "nodes": 2}, multistep.theorem7),
        ("section42", {"beta": 0.5, "constant": 0.05}, multistep.section42),
        ("inner-steps", {"fewer_steps": 1, "factor": 0.05}, multistep.inner_steps),
    ):
        file = partial(made, f"huang2020-{claim}", "property", STAR, CENTRE, **other)
        yield f"huang2020-{claim}", file, oracle


# zhang2018 and the tables

GROWING = {
    "part": "growing", "nodes": 3, "iterations": 60, "dual_step": 1.0, "ridge": 1.0,
    "loss": "logistic", "tolerance": 0.01, "factor": 1.0,
}  # fmt: skip
PATH = [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
GROWN = {
    "adjacency": PATH, "records": [1.0, 0.5, -0.25], "first": [5.0, 10.0, 5.0],
    "growth": [4.0, 3.0, 4.0],
}  # fmt: skip
BOUNDED = {"part": "bounded", "penalties": "own", "nodes": 3, "dual_step": 0.5, "factor": 0.5}
QUADRATICS = {"adjacency": PATH, "penalty": [1.0, 0.5, 2.0], "curvature": [1.0, 0.25, 0.5]}
OUTPUT = {
    "nodes": 3, "records": 2, "dimension": 2, "iterations": 2, "loss": "logistic",
    "penalty": 1.0, "growth": 1.5, "dual_step": 0.5, "noise_rate": 2.0, "noise_growth": 1.25,
    "loss_weight": 1.5, "regulariser_weight": 0.5, "factor": 0.1,
}  # fmt: skip
BROADCASTS = {
    "others": [[0.5, 0.5]], "old": [0.6, 0.75], "new": [-0.6, -0.75],
    "outputs": [
        [[0.0, 0.0]] * 3,
        [[0.5, 0.75], [0.25, 0.0], [-0.5, 0.25]],
        [[0.25, 1.0], [0.5, 0.25], [0.0, 0.5]],
    ],
}  # fmt: skip


def of_networks():
    """Yield the name, the file and the oracle of claims about networks and tables."""
    claim = "zhang2018-theorem31"
    yield f"{claim}, grown", partial(made, claim, "property", GROWING, GROWN), networks.theorem31
    for number in (2, 3):
        yield f"{claim}, {number}", partial(published, claim, number), networks.theorem31
    bounded = partial(made, claim, "property", BOUNDED, QUADRATICS)
    yield f"{claim}, bounded", bounded, networks.theorem31
    output = partial(made, "zhang2018-theorem41", "pure-dp", OUTPUT, BROADCASTS)
    yield "zhang2018-theorem41", output, networks.theorem41
    for number in (0, 1):
        file = partial(published, "tables-theorem2", number)
        yield f"tables-theorem2, {number}", file, networks.tables2


MADE = {
    name: (file, oracle)
    for family in (of_sharing, of_multistep, of_networks)
    for name, file, oracle in family()
}
# What a forger does to a moved file
REPAIRS = {"huang2020-theorem6": with_steps}
