"""The scan of diffprivlib: its mechanisms, its tools and its models.

The documentation names no neighbour relation. A claim is read as generously as the code allows: by
replacement where the number of records enters a scale as if public (the mean, the variance, the
sum over an interval, objective perturbation), by adding or removing a record where counts have
sensitivity one (histograms, clusters). What fails under a reading fails under the one that suits
the code best.
"""

from dpaudit.extension.package import Package
from dpaudit.scan.packages.diffprivlib.mechanisms import MECHANISMS
from dpaudit.scan.packages.diffprivlib.models import MODELS
from dpaudit.scan.packages.diffprivlib.tools import TOOLS

PACKAGE = Package(
    name="diffprivlib",
    distribution="diffprivlib",
    code="dpaudit.scan.packages.diffprivlib.subjects",
    versions=("0.6.6", "0.6.0"),
    requirements=("scikit-learn<1.7",),
    requirements_of={"0.6.0": ("scikit-learn<1.3", "numpy<1.26")},
    home="https://github.com/IBM/differential-privacy-library",
    subjects=(*MECHANISMS, *TOOLS, *MODELS),
)
