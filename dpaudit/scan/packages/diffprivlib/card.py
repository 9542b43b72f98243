"""What is scanned of diffprivlib."""

from dpaudit.extension.package import Claimed, Package, Subject

PACKAGE = Package(
    name="diffprivlib",
    distribution="diffprivlib",
    code="dpaudit.scan.packages.diffprivlib.subjects",
    versions=("0.6.6",),
    requirements=("scikit-learn<1.7",),
    home="https://github.com/IBM/differential-privacy-library",
    subjects=(
        Subject(
            name="tools.mean",
            code="tools_mean",
            parameters=(
                {"epsilon": 1.0, "bounds": (0.0, 1.0)},
                {"epsilon": 1.0, "bounds": (5.0, 10.0)},
            ),
            datasets=lambda given: (
                [given["bounds"][0]],
                [given["bounds"][0], given["bounds"][1]],
                [given["bounds"][0]] * 4 + [given["bounds"][1]],
            ),
            bounds="bounds",
            claims=(
                Claimed(
                    epsilon="epsilon",
                    where="docstring of diffprivlib.tools.mean: a differentially private mean "
                    "with the privacy parameter epsilon",
                ),
            ),
            additive=True,
        ),
    ),
)
