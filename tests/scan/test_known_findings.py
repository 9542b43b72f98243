"""What is known of released packages, in environments of their own: found, and fixed ones hold.

Slow: environments are built, some of which take gigabytes. One that cannot be built is skipped, and
says why.
"""

import pytest

from dpaudit.errors import DpauditError
from dpaudit.extension.registry import PACKAGES
from dpaudit.scan.remote.environments import CannotBeBuilt
from dpaudit.scan.scan import ScanBudget, scan_package

pytestmark = pytest.mark.slow
SECONDS = 200.0  # one model of synthcity takes .4
PCA, SVT = "models.PCA", "filters.SVTPrivacy"
MEAN_OF_LOSS = "PrivacyEngine.make_private (mean of the loss)"

# Card, version, subject, and whether its claim is refuted.
KNOWN = [
    # IBM/differential-privacy-library#104 and #105, #106, #80, #107
    ("diffprivlib", "0.6.6", "models.LinearRegression within bounds", True),
    ("diffprivlib", "0.6.6", "models.LogisticRegression", True),
    ("diffprivlib", "0.6.6", "tools.mean", True),
    ("diffprivlib", "0.6.6", "tools.median", True),
    # IBM/differential-privacy-library#23, fixed in 0.4
    ("diffprivlib-0.3", "0.3.0", PCA, True),
    ("diffprivlib", "0.6.6", PCA, False),
    # sassoftware/dpmm#18 and #24; with a domain that is given it holds
    ("dpmm", "0.1.9", "MSTGM without a domain", True),
    ("dpmm", "0.1.9", "MSTGM without a domain, its table", True),
    ("dpmm", "0.1.9", "TableBinner without categories", True),
    ("dpmm", "0.1.9", "MSTGM, marginals of one column", False),
    # vanderschaarlab/synthcity#276 and #278, both open
    ("synthcity", "0.2.12", "PATE-GAN, noisy labels", True),
    ("synthcity", "0.2.12", "PATE-GAN, the schema of its data", True),
    # meta-pytorch/opacus#571 and #819, open
    ("opacus", "1.6.0", MEAN_OF_LOSS, True),
    # opendp/smartnoise-sdk#572 and #574, fixed by #580
    ("smartnoise-sql", "1.0.1", "approx_bounds", True),
    ("smartnoise-sql", "1.0.10", "approx_bounds", False),
    # NVIDIA/NVFlare#343, fixed in 2.0.19
    ("nvflare-2.0", "2.0.16", SVT, True),
    ("nvflare-2.0", "2.0.19", SVT, False),
    # opendp/opendp#2922, open; #2911 was closed, and has to hold
    ("opendp", "0.16.0", "thresholded counts", True),
    ("opendp", "0.16.0", "noisy max zcdp", False),
    ("opendp", "0.15.1", "noisy max zcdp", False),
]


@pytest.mark.parametrize(("card", "version", "subject", "refuted"), KNOWN)
def test_what_is_known_is_found_and_what_was_fixed_holds(card, version, subject, refuted):
    package = PACKAGES.get(card)
    pinned = f"{package.distribution}=={version}"
    try:
        result = scan_package(
            package, env=pinned, subjects=[subject], budget=ScanBudget(seconds=SECONDS)
        )
    except (CannotBeBuilt, DpauditError) as error:
        pytest.skip(str(error))
    assert subject not in result.skipped, result.skipped
    assert any(each.subject == subject for each in result.findings) is refuted


def test_the_intercept_of_a_regression_spends_more_than_its_epsilon():
    """IBM/differential-privacy-library#104, item 2: epsilon (1 + 1/(n + 1)), in a frozen run."""
    try:
        result = scan_package(
            PACKAGES.get("diffprivlib"),
            env="diffprivlib==0.6.6",
            subjects=["models.LinearRegression"],
            budget=ScanBudget(seconds=40.0),
        )
    except (CannotBeBuilt, DpauditError) as error:
        pytest.skip(str(error))
    assert any("declare an epsilon of 1.5 together" in note for note in result.notes)
