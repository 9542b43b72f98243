"""Scans of correct mechanisms with many seeds: ``python many_scans.py CONFIDENCE SEED SEED ...``.

Prints a list of JSON: the seeds whose scan refuted a claim that is true. The card and its functions
are found on the path, as those of an installed package.
"""

import json
import sys

from dpaudit.scan.scan import ScanBudget, scan_package


def accuses(confidence, seed):
    """Return whether a scan refutes what is correct, claimed or not."""
    from toy_card import CORRECT, package  # beside it, or where a test installed it

    budget = ScanBudget(confidence=confidence, trials=600, seconds=120.0)
    result = scan_package(package(*CORRECT), budget=budget, seed=seed, workers=1)
    assert not result.skipped
    assert not result.unreached
    return any(
        # The first bit is no record's: to add one in front is another query.
        not (each.subject == "randomised_response" and not each.violation)
        for each in (*result.findings, *result.information)
    )


if __name__ == "__main__":
    confidence, *seeds = sys.argv[1:]
    print(json.dumps([int(seed) for seed in seeds if accuses(float(confidence), int(seed))]))
