"""Run in an environment that has jax-privacy and privacy-estimates: their numbers on scores.

``python _canary_peers.py SCORES.npz DELTA`` prints a JSON object: a list of numbers a name, one for
each row of ``score`` and ``included``. Canaries are taken as they take them: as independent, but
for the one-run methods of jax-privacy.
"""

import json
import sys

import numpy as np
from jax_privacy.auditing import CanaryScoreAuditor
from privacy_estimates import AttackResults, compute_eps_lo

ALPHA = 0.05
SHARE = 0.05  # of all canaries that privacy-estimates' one threshold lets be guessed


def main() -> None:
    delta = float(sys.argv[2])
    with np.load(sys.argv[1]) as given:
        games = list(zip(given["score"], given["included"], strict=True))
    found: dict[str, list[float]] = {}
    for scores, included in games:
        for name, value in numbers(scores, included, delta).items():
            found.setdefault(name, []).append(float(value))
    print(json.dumps(found))


def numbers(scores, included, delta):
    auditor = CanaryScoreAuditor(scores[included], scores[~included])
    counts = at_threshold(scores, included)
    return {
        "jax-privacy epsilon_one_run": auditor.epsilon_one_run(ALPHA, delta),
        "jax-privacy epsilon_one_run_fdp": auditor.epsilon_one_run_fdp(ALPHA, delta),
        "jax-privacy epsilon_clopper_pearson": auditor.epsilon_clopper_pearson(ALPHA, delta),
        "jax-privacy epsilon_from_gdp": auditor.epsilon_from_gdp(ALPHA, delta),
        "privacy-estimates beta": compute_eps_lo(counts, delta, ALPHA, "beta"),
        "privacy-estimates jeffreys": compute_eps_lo(counts, delta, ALPHA, "jeffreys"),
        "privacy-estimates joint-beta": compute_eps_lo(counts, delta, ALPHA, "joint-beta"),
    }


def at_threshold(scores, included):
    guessed = scores > np.quantile(scores, 1 - SHARE)
    kinds = {"TP": guessed & included, "FP": guessed & ~included}
    kinds |= {"FN": ~guessed & included, "TN": ~guessed & ~included}
    return AttackResults(**{name: int(kind.sum()) for name, kind in kinds.items()})


if __name__ == "__main__":
    main()
