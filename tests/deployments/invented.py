"""Invented records: of each it is known whether its numbers agree, and what is wrong if not."""

import json
from pathlib import Path
from typing import Any

BASIC = {
    "name": "An invented product",
    "data_curators": ["Nobody"],
    "intended_use": "Tests.",
    "data_product_type": "Summary statistics",
    "data_product_region": "Nowhere",
    "description": "Counts of what never was.",
    "publication_date": "2031-01-01",
}
SECTIONS = {
    "variant_name": "dp_variant",
    "privacy_unit": "privacy_loss",
    "privacy_unit_details": "privacy_loss",
    "privacy_parameters": "privacy_loss",
    "privacy_parameters_details": "privacy_loss",
    "model_name": "deployment_model",
    "release_type": "deployment_model",
    "release_type_details": "deployment_model",
    "composition": "accounting",
    "post_processing": "accounting",
    "mechanisms": "implementation",
    "justification": "implementation",
}


def registry_record(**said: Any) -> str:
    """Return a record in the registry's layout with these fields, as YAML."""
    deployment: dict[str, Any] = {"basic": BASIC}
    for name, value in said.items():
        deployment.setdefault(SECTIONS[name], {})[name] = value
    whole = {"url_slug": "invented", "status": "Draft", "tier": 1, "deployment": deployment}
    return "\n".join(_yaml(whole, 0))


def _yaml(value: dict[str, Any], depth: int) -> list[str]:
    lines = []
    for key, each in value.items():
        start = " " * depth + f"{key}:"
        if isinstance(each, dict) and each:
            lines += [start, *_yaml(each, depth + 2)]
        elif isinstance(each, str) and "\n" in each:
            lines += [f"{start} |", *(" " * (depth + 2) + line for line in each.split("\n"))]
        else:
            lines.append(f"{start} {json.dumps(each, ensure_ascii=False)}")
    return lines


def write_record(folder: Path, content: str, suffix: str = ".yaml") -> Path:
    path = folder / f"record{suffix}"
    path.write_text(content, encoding="utf-8")
    return path


def numbers(**given: Any) -> dict[str, Any]:
    return given


PURE, APPROXIMATE = "Pure DP", "Approximate DP"
ZCDP, RENYI = "Zero-concentrated DP", "Renyi DP"
_USER, _DAY = "User-level", "User-day-level"

# What is wrong, the code that has to be found, the number that has to be computed, and the record.
PLANTED: dict[str, tuple[str, float | None, str]] = {
    "pure with a delta": (
        "pure-delta",
        0.0,
        registry_record(variant_name=PURE, privacy_parameters=numbers(epsilon=1.0, delta=1e-6)),
    ),
    "pure with a delta as text": (
        "pure-delta",
        0.0,
        registry_record(
            variant_name=PURE, privacy_parameters=numbers(epsilon=1.0, delta="10^{-6}")
        ),
    ),
    "pure with rho alone": (
        "pure-rho",
        None,
        registry_record(variant_name=PURE, privacy_parameters=numbers(rho=0.5)),
    ),
    "pure by Gaussian noise": (
        "gaussian-pure",
        None,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=1.0),
            mechanisms="The Gaussian mechanism was used for all counts.",
        ),
    ),
    "pure by discrete Gaussian noise": (
        "gaussian-pure",
        None,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=2.0),
            mechanisms="Laplace, Discrete Gaussian",
        ),
    ),
    "rho in fields": (
        "rho",
        5.22153,
        registry_record(
            variant_name=ZCDP, privacy_parameters=numbers(rho=0.5, epsilon=2.0, delta=1e-6)
        ),
    ),
    "rho in the text": (
        "rho",
        None,
        registry_record(
            variant_name=ZCDP,
            privacy_parameters=numbers(rho=2.56),
            privacy_parameters_details="With \\(\\rho\\) = 2.56 (corresponding to "
            "\\(\\epsilon\\)=12.1 and "
            "\\(\\delta = 10^{-10}\\)).",
            mechanisms="Discrete Gaussian",
        ),
    ),
    "rho of the total beside an epsilon of it": (
        "rho",
        None,
        registry_record(
            variant_name=ZCDP,
            privacy_parameters=numbers(rho=1.0),
            privacy_parameters_details="rho = 1, which is equivalent to epsilon = 5 at delta = "
            "1e-10.",
        ),
    ),
    "rho of Gaussian noise": (
        "gaussian-rho",
        0.125,
        registry_record(
            variant_name=ZCDP,
            privacy_parameters=numbers(rho=0.05),
            mechanisms="Gaussian noise with sensitivity 1 and sigma = 2 is added.",
        ),
    ),
    "sum of parts in a list, too small": (
        "total-epsilon",
        4.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=3.0),
            privacy_parameters_details="The budget of \\(\\epsilon = 3\\) is split as follows:\n"
            "  - Counts: \\(\\epsilon = 2.5\\)\n  - Sums: \\(\\epsilon = 1.5\\)",
        ),
    ),
    "sum of parts in a list, too large": (
        "total-rho",
        1.5,
        registry_record(
            variant_name=ZCDP,
            privacy_parameters=numbers(rho=2.0),
            privacy_parameters_details="The global budget is rho = 2.0, which was split between "
            "two:\n"
            "  - Persons: rho = 1.2\n  - Homes: rho = 0.3",
        ),
    ),
    "sum of parts in a sentence": (
        "total-epsilon",
        9.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=10.0),
            privacy_parameters_details="The privacy budget is set as follows: • ε = 4 for A • ε = "
            "2 for B "
            "• ε = 3 for C.",
        ),
    ),
    "sum of parts with a factor": (
        "total-epsilon",
        10.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=5.0),
            privacy_parameters_details="The budget was allocated as follows: ε = 4 for fitting; ε "
            "= 1 for "
            "evaluation; and a factor 2 is applied. The overall budget is ε = 5.",
        ),
    ),
    "sum as written": (
        "equation",
        0.44,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=0.4),
            composition="By sequential composition the total is 0.11 * 2 + 0.22 = 0.40",
        ),
    ),
    "product as written": (
        "equation",
        1.76,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=1.67),
            composition="A user spends at most 4 × 0.44 = 1.67.",
        ),
    ),
    "sum behind the total": (
        "equation",
        5.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=4.0),
            composition="Sequential composition: the total budget is \\(\\epsilon\\) = 4.0 (2.5 + "
            "2.5).",
        ),
    ),
    "days": (
        "total-epsilon",
        60.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=50.0),
            composition="ε = 2 per day for 30 days; the total is ε = 50.",
        ),
    ),
    "queries": (
        "total-epsilon",
        1.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=0.5),
            composition="There are ten queries, with an epsilon of 0.1 each.",
        ),
    ),
    "Laplace noise": (
        "laplace",
        0.5,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=0.1),
            mechanisms="Laplace noise with sensitivity 1 and scale 2.",
        ),
    ),
    "Laplace noise by its deviation": (
        "laplace",
        1.4142135,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=1.0),
            mechanisms="The Laplace mechanism with sensitivity = 1 and standard deviation of 1.",
        ),
    ),
    "geometric noise": (
        "laplace",
        2.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=1.0),
            mechanisms="Two-sided geometric mechanism, sensitivity = 4, scale = 2.",
        ),
    ),
    "one noise, two epsilons": (
        "one-noise",
        0.1,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=0.1),
            privacy_parameters_details="Laplace noise yields ε = 0.1 (sensitivity = 1, noise "
            "scale = 10).",
            mechanisms="Laplace noise is added (ε = 0.4; sensitivity = 1, noise scale = 10).",
        ),
    ),
    "Gaussian noise": (
        "gaussian",
        4.88655,
        registry_record(
            variant_name=APPROXIMATE,
            privacy_parameters=numbers(epsilon=1.0, delta=1e-6),
            mechanisms="Gaussian mechanism, sensitivity 1, sigma = 1.",
        ),
    ),
    "Gaussian noise by its variance": (
        "gaussian",
        None,
        registry_record(
            variant_name=APPROXIMATE,
            privacy_parameters=numbers(epsilon=0.5, delta=1e-6),
            mechanisms="Gaussian noise with L2 sensitivity of 1 and variance of 4.",
        ),
    ),
    "randomised response": (
        "response",
        1.0986,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=0.5),
            model_name="Local",
            mechanisms="Randomized response with a flip probability of 0.25.",
        ),
    ),
    "negative epsilon": (
        "range-epsilon",
        None,
        registry_record(variant_name=PURE, privacy_parameters=numbers(epsilon=-1.0)),
    ),
    "epsilon 0": (
        "range-epsilon",
        None,
        registry_record(variant_name=PURE, privacy_parameters=numbers(epsilon=0)),
    ),
    "infinite epsilon": (
        "range-epsilon",
        None,
        registry_record(variant_name=PURE, privacy_parameters={"epsilon": "infinity"}),
    ),
    "delta above 1": (
        "range-delta",
        None,
        registry_record(variant_name=APPROXIMATE, privacy_parameters=numbers(epsilon=1.0, delta=2)),
    ),
    "another epsilon in the text": (
        "text-epsilon",
        4.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=2.0),
            privacy_parameters_details="The deployment uses ε = 4.",
        ),
    ),
    "another total in the text": (
        "text-epsilon",
        3.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=2.0),
            composition="The total privacy loss is ε = 3.",
        ),
    ),
    "another delta in the text": (
        "text-delta",
        1e-5,
        registry_record(
            variant_name=APPROXIMATE,
            privacy_parameters=numbers(epsilon=2.0, delta=1e-6),
            privacy_parameters_details="It is (2.0, 10−5)-DP.",
        ),
    ),
    "replaced at a symmetric distance of 1": (
        "relation",
        2.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=2.0),
            privacy_unit=_USER,
            privacy_unit_details="Neighbours differ by the replacement of one record. The "
            "distance is the "
            "symmetric distance, and the maximum distance between any two is one.",
        ),
    ),
    "added at a change-one distance": (
        "relation",
        None,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=2.0),
            privacy_unit_details="Adding or removing one user's records, by the change-one "
            "distance.",
        ),
    ),
    "amplification by a product": (
        "amplification",
        4.7204,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=0.843),
            composition="Before sampling it is ε = 6.8. The amplification factor is 0.124.",
        ),
    ),
    "statement: parts": (
        "total-epsilon",
        3.0,
        "variant: pure\nepsilon: 2\nparts:\n  - epsilon: 1\n  - epsilon: 2\n",
    ),
    "statement: releases": (
        "total-epsilon",
        36.5,
        "variant: pure\nepsilon_per_day: 0.1\ndays: 365\nepsilon_total: 10\nmechanism: Laplace\n",
    ),
    "statement: less than one Gaussian release has": (
        "gaussian",
        9.855,
        "mechanism: Gaussian\nsensitivity: 1\nsigma: 3\nepsilon: 1\ndelta: 1e-6\nreleases: 30\n",
    ),
    "statement: a total of Gaussian releases": (
        "gaussian",
        9.855,
        "mechanism: Gaussian\nsensitivity: 1\nsigma: 3\ntotal_epsilon: 2\ndelta: 1e-6\n"
        "releases: 30\n",
    ),
    "statement: a run of Gaussian steps": (
        "gaussian",
        9.855,
        "mechanism: Gaussian\nsensitivity: 1\nsigma: 3\nepsilon: 2\ndelta: 1e-6\nsteps: 30\n",
    ),
    "statement: mu": (
        "mu",
        4.88655,
        "variant: GDP\nmu: 1\nepsilon: 2\ndelta: 1e-6\nmechanism: Gaussian\n",
    ),
    "statement: Renyi": (
        "renyi",
        1.918,
        "variant: Renyi\norder: 10\nrenyi_epsilon: 1\nepsilon: 1.2\ndelta: 1e-5\n",
    ),
    "statement: randomised response among many": (
        "response",
        4.3944,
        "variant: pure\nmodel: local\nmechanism: randomised response\ntruth_probability: 0.9\n"
        "categories: 10\nepsilon: 2\n",
    ),
    "statement: zero noise": (
        "noise-range",
        None,
        "variant: pure\nmechanism: Laplace\nsensitivity: 1\nscale: 0\nepsilon: 2\n",
    ),
}

# Records whose numbers agree: nothing may be said against them.
SOUND: dict[str, str] = {
    "pure": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=1.0),
        privacy_parameters_details="With ε = 1.",
        mechanisms="Laplace",
    ),
    "approximate by Gaussian noise": registry_record(
        variant_name=APPROXIMATE,
        privacy_parameters=numbers(epsilon=4.9, delta="1e-6"),
        mechanisms="Gaussian mechanism, sensitivity 1, sigma = 1.",
    ),
    "looser than Gaussian noise": registry_record(
        variant_name=APPROXIMATE,
        privacy_parameters=numbers(epsilon=10, delta=1e-6),
        mechanisms="Gaussian mechanism, sensitivity 1, sigma = 1.",
    ),
    "looser than Laplace noise": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=1.0),
        mechanisms="Laplace noise with sensitivity 1 and scale 2.",
    ),
    "rho by the usual formula": registry_record(
        variant_name=ZCDP,
        privacy_parameters=numbers(rho=4.96, epsilon=26.34, delta=1e-10),
        mechanisms="Discrete Gaussian",
    ),
    "rho by Gaussian noise": registry_record(
        variant_name=ZCDP,
        privacy_parameters=numbers(rho=0.5, epsilon=4.9, delta=1e-6),
        mechanisms="Gaussian noise",
    ),
    "rho in the text": registry_record(
        variant_name=ZCDP,
        privacy_parameters=numbers(rho=2.63),
        privacy_parameters_details="The global budget was \\\\(\\rho\\\\)  = 2.63, split between:\n"
        "  - A: \\\\(\\rho\\\\) = 2.56 was used (corresponding to \\\\(\\epsilon\\\\)=17.16 and "
        "\\\\(\\delta = 10^{-10}\\\\).\n  - B: \\\\(\\rho\\\\)  = 0.07.",
    ),
    "epsilon and rho of Laplace noise": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=0.5, rho=0.125),
        mechanisms="Laplace",
    ),
    "a sum with rounding": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=1.0),
        privacy_parameters_details="The budget of ε = 1.0 is split as follows:\n  - A: ε = 0.33\n"
        "  - B: ε = 0.33\n  - C: ε = 0.34",
    ),
    "days": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=60.0),
        composition="ε = 2 per day for 30 days; the total is ε = 60.",
    ),
    "advanced composition": "variant: approximate\nepsilon_per_day: 0.1\ndelta_per_day: 0\n"
    "days: 365\nepsilon_total: 12\ndelta: 1e-6\ncomposition: advanced\n",
    "parts of which the largest counts": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=2.0),
        composition="Parallel composition: the data are partitioned.",
        privacy_parameters_details="ε = 2 for the north; ε = 2 for the south.",
    ),
    "other numbers for other groups": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=2.0),
        mechanisms="It consists of steps: noise (ε=1.1) for lower risk; (ε=0.2) for "
        "medium risk; "
        "(ε=0.1) for higher risk.",
        privacy_parameters_details="It is ε = 2 in all.",
    ),
    "a number that others published": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=4.72),
        privacy_parameters_details="The final ε in the paper is ε = 0.843, by an incorrect "
        "formula.",
        composition="Pre-amplification ε = 6.8; the amplification factor of 0.124 yields ε = 4.72.",
    ),
    "Gaussian noise that was not chosen": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=1.0),
        mechanisms="The Laplace mechanism was chosen over the Gaussian mechanism.",
    ),
    "bounded": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=1.0),
        privacy_unit_details="A “bounded neighbors” definition: datasets that differ by the "
        "modification of "
        "one record, by the change-one distance, and the maximum distance between any two is one.",
    ),
    "randomised response": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=1.1),
        mechanisms="Randomized response with a flip probability of 0.25.",
    ),
    "amplified": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=4.72),
        composition="Before sampling it is ε = 6.8. The amplification factor is 0.124.",
    ),
    "mu": "variant: GDP\nmu: 1\nepsilon: 4.9\ndelta: 1e-6\nmechanism: Gaussian\n",
    "Renyi": "variant: Renyi\norder: 10\nrenyi_epsilon: 1\nepsilon: 2\ndelta: 1e-5\n",
    "ln 3": "variant: pure\nmodel: local\nmechanism: randomised response\ntruth_probability: 0.75\n"
    "epsilon: ln 3\n",
    "parts": "variant: pure\nepsilon: 3\nparts:\n  - epsilon: 1\n  - epsilon: 2\n",
    "parts with room": "variant: pure\nepsilon: 4\nparts:\n  - epsilon: 1\n  - epsilon: 2\n",
}

# Records of which nothing can be said: the code of the reason.
OPEN: dict[str, tuple[str, str]] = {
    "an epsilon of one release or of all": (
        "gaussian",
        "mechanism: Gaussian\nsensitivity: 1\nsigma: 3\nepsilon: 2\ndelta: 1e-6\nreleases: 30\n",
    ),
    "nothing stated": ("no-parameters", registry_record(variant_name=PURE, mechanisms="Laplace")),
    "no delta": (
        "variant",
        registry_record(variant_name=APPROXIMATE, privacy_parameters=numbers(epsilon=1.0)),
    ),
    "a formula": (
        "formula",
        registry_record(
            variant_name=APPROXIMATE,
            privacy_parameters=numbers(epsilon=0.01, delta="n^{(-\\epsilon \\ln(n))}"),
        ),
    ),
    "a range": ("range", "variant: pure\nepsilon: 2-4\n"),
    "no rho": (
        "variant",
        registry_record(variant_name=ZCDP, privacy_parameters=numbers(epsilon=1.0)),
    ),
    "a release a day of all of a user's data": (
        "period",
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=1.0),
            privacy_unit=_USER,
            release_type="Many releases",
            release_type_details="Daily",
        ),
    ),
    "no sensitivity": (
        "noise-incomplete",
        "variant: pure\nmechanism: Laplace\nscale: 2\nepsilon: 1\n",
    ),
    "two relations": (
        "relation",
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=1.0),
            privacy_unit_details="Adding or removing a record, or the replacement of one.",
        ),
    ),
}

# More records in prose, as different people write them.
PLANTED |= {
    "days in a sentence": (
        "total-epsilon",
        182.5,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=100.0),
            privacy_unit=_USER,
            privacy_parameters_details="epsilon = 0.5 per day, over 365 days; total epsilon 100.",
        ),
    ),
    "a truth told three times of four": (
        "response",
        1.098612,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=0.5),
            mechanisms="Randomized response; a user answers truthfully with probability 3/4.",
        ),
    ),
    "Gaussian noise in letters": (
        "gaussian",
        None,
        registry_record(
            variant_name=APPROXIMATE,
            privacy_parameters=numbers(epsilon=0.5, delta=1e-5),
            mechanisms="Gaussian mechanism with σ = 1 and Δ = 1.",
        ),
    ),
    "Laplace noise in letters": (
        "laplace",
        4.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=2.0),
            mechanisms="Laplace noise with \\\\(\\lambda\\\\) = 0.25 for a sensitivity of 1.",
        ),
    ),
    "a pair of an order": (
        "renyi",
        1.918,
        registry_record(
            variant_name=RENYI,
            privacy_parameters=numbers(epsilon=1.2, delta=1e-5),
            privacy_parameters_details="It is (10, 1)-RDP, which corresponds to epsilon = 1.2 at "
            "delta = 1e-5.",
        ),
    ),
    "rho before its name": (
        "rho",
        None,
        registry_record(
            variant_name=ZCDP,
            privacy_parameters=numbers(rho=1.0),
            privacy_parameters_details="1.0-zCDP implies (2, 1e-6)-DP.",
        ),
    ),
    "months": (
        "total-epsilon",
        12.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=6.0),
            composition="Sequential composition of 12 monthly releases with epsilon = 1 each gives "
            "a total of epsilon = 6 per year.",
        ),
    ),
    "bullets under a total": (
        "total-epsilon",
        2.5,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=2.0),
            privacy_parameters_details="Total privacy budget: \\(\\epsilon = 2\\).\n"
            "- Step 1: \\(\\epsilon = 1.5\\)\n- Step 2: \\(\\epsilon = 1.0\\)",
        ),
    ),
    "bullets above a total": (
        "total-epsilon",
        2.5,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=2.0),
            composition="- Counts: \\(\\epsilon = 1.5\\)\n- Means: \\(\\epsilon = 1.0\\)\n"
            "- By sequential composition, the total is \\(\\epsilon = 2.0\\).",
        ),
    ),
    "pairs a day": (
        "total-epsilon",
        6.0,
        registry_record(
            variant_name=APPROXIMATE,
            privacy_parameters=numbers(epsilon=4.0, delta=1e-6),
            privacy_parameters_details="30 days with (0.2, 1e-8)-DP per day; in total (4, "
            "1e-6)-DP.",
        ),
    ),
    "records of one user": (
        "total-epsilon",
        1.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=0.5),
            privacy_unit=_USER,
            privacy_parameters_details="Each record has ε = 0.1, and a user contributes at most 10 "
            "records.",
        ),
    ),
    "statement: nested": (
        "laplace",
        1.0,
        "privacy:\n  definition: epsilon-DP\n  epsilon:\n    value: 0.5\n"
        "  mechanism:\n    name: Laplace\n    sensitivity: 2\n    scale: 2\n",
    ),
    "statement: prose": (
        "laplace",
        0.2,
        "statement: |\n  We add Laplace noise with scale 5 to counts of sensitivity 1, which\n"
        "  gives epsilon = 0.1.\n",
    ),
    "statement: samples": (
        "gaussian",
        None,
        "mechanism: Gaussian\nnoise_multiplier: 1.1\nsampling_rate: 0.01\nsteps: 10000\n"
        "epsilon: 0.5\ndelta: 1e-5\n",
    ),
}
SOUND |= {
    "what was considered": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=1.0),
        composition="We considered ε = 0.5 and ε = 2, and chose ε = 1 in the end.",
    ),
    "one release of many": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=2.0),
        privacy_unit="User-month-level",
        privacy_parameters_details="ε = 2 per release; there are 12 releases per year.",
    ),
    "a copula": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=1.0),
        mechanisms="Laplace noise; a Gaussian copula models the margins afterwards.",
    ),
    "a distance of 2": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=1.0),
        privacy_unit_details="We use replace-one neighbours, i.e. symmetric distance 2.",
    ),
    "keys by a threshold": registry_record(
        variant_name=APPROXIMATE,
        privacy_parameters=numbers(epsilon=1.5, delta=1e-8),
        mechanisms="Laplace noise with scale 1 and sensitivity 1; keys above a threshold of 20.",
        composition="Partition selection has ε = 0.5 and δ = 1e-8, and counts have ε = 1.",
    ),
    "a coin before the answer": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=1.0986),
        mechanisms="Randomized response. With probability 1/2 a user answers at random, otherwise "
        "truthfully.",
    ),
    "shuffled": registry_record(
        variant_name=APPROXIMATE,
        privacy_parameters=numbers(epsilon=0.5, delta=1e-7),
        model_name="Shuffle",
        composition="Local randomisers have ε = 4; shuffling amplifies this to a central ε = 0.5.",
    ),
    "all products of an agency": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=1.0),
        composition="The total privacy loss of all products of this agency is ε = 7.",
    ),
    "hours of a week": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=1.0),
        privacy_parameters_details="The dataset has 24 * 7 = 168 hourly counts, each with ε = 1, "
        "by "
        "parallel composition.",
    ),
    "a comparison with others": registry_record(
        variant_name=APPROXIMATE,
        privacy_parameters=numbers(epsilon=1.0, delta=1e-6),
        privacy_parameters_details="δ is set to 10^-6, ε is at most 1.0, which is stronger than "
        "the "
        "earlier (2, 1e-5)-DP.",
    ),
}
PLANTED |= {
    "a delta in the text of a pure record": (
        "pure-delta",
        0.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=4.8),
            privacy_parameters_details="Each month it is (4.8, 4 × 10−10)-DP.",
        ),
    ),
    "rho beside the others": (
        "rho",
        5.22153,
        registry_record(
            variant_name=ZCDP,
            privacy_parameters=numbers(rho=0.5),
            privacy_parameters_details="(ρ = 0.5, ε = 3 and δ = 1e-6)",
        ),
    ),
    "a quotient as written": (
        "equation",
        2.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=0.5),
            mechanisms="Laplace noise whose scale is 1/0.5 = 5.",
        ),
    ),
}
SOUND |= {
    "a longer formula": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=4.0),
        composition="10 - 2 * 3 = 4, and 1/2 * 3 = 1.5; it is ε = 4.",
    ),
    "two tables, two currencies": registry_record(
        variant_name=ZCDP,
        privacy_parameters=numbers(rho=0.5),
        privacy_parameters_details="rho = 0.5 for persons and epsilon = 1, delta = 1e-6 for homes.",
    ),
}
SOUND |= {
    "a logarithm and its rounding": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=2.1972),
        privacy_parameters_details="Bits flip with probability 0.1, so that ε = ln(9) = 2.1972.",
    ),
    "fewer digits in the text": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=17.14),
        privacy_parameters_details="In total ε = 17.1.",
    ),
    "a total before its count": registry_record(
        variant_name=PURE,
        privacy_parameters=numbers(epsilon=10),
        privacy_parameters_details="Overall ε = 10 for 5 releases at ε = 2 each.",
    ),
}
PLANTED |= {
    "a total too small before its count": (
        "total-epsilon",
        20.0,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=10),
            privacy_parameters_details="Overall ε = 10 for 10 releases at ε = 2 each.",
        ),
    ),
    "another logarithm": (
        "text-epsilon",
        1.609438,
        registry_record(
            variant_name=PURE,
            privacy_parameters=numbers(epsilon=1.0986),
            privacy_parameters_details="In total ε = ln 5.",
        ),
    ),
}
OPEN |= {
    "a decimal comma": ("formula", "mechanism: Laplace\nsensitivity: 1\nscale: 2\nepsilon: 0,5\n"),
}
SOUND |= {
    "arithmetic within a formula": (
        "epsilon: 6\nstatement: ln(0.75/0.25) = 1.0986, sqrt(2) * 3 * 2 = 8.49, ln 2 * 3 = 2.08, "
        "-3 + 5 = 2, 2 (3 + 4) = 14, 1/2 = 50%, 1,000 * 2 = 2,000; ε = 3 * 2 = 6.\n"
    ),
    "disjoint parts in words": (
        "composition: each person is in one table only\n"
        "parts:\n  - epsilon: 1\n  - epsilon: 1\nepsilon: 1\n"
    ),
    "parts with names": (
        "queries:\n  - name: a\n    epsilon: 1\n  - name: b\n    epsilon: 2\ntotal_epsilon: 3\n"
    ),
    "weeks of days": "variant: pure\nepsilon_per_day: 0.1\nweeks: 4\ntotal_epsilon: 2.8\n",
    "a day of a user-day": (
        "variant: pure\nunit: user-day\nepsilon_per_day: 0.1\ndays: 10\nepsilon: 0.1\n"
    ),
}
PLANTED |= {
    "weeks that count as days": (
        "total-epsilon",
        36.4,
        "epsilon_per_day: 0.1\nweeks: 52\ntotal_epsilon: 5.2\n",
    ),
}
PLANTED |= {
    "a negative sensitivity": (
        "noise-range",
        None,
        "mechanism: Laplace\nsensitivity: -1\nscale: 2\nepsilon: 0.5\n",
    ),
}
OPEN |= {"a time in place of a number": ("formula", "variant: pure\nepsilon: 1:30\n")}
