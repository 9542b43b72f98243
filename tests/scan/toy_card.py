"""The card of a package that only tests have."""

from dpaudit.extension.package import Package, PackageClaim, Subject

NUMBERS = ([0.2], [0.0, 0.3, 1.0], [0.0] * 4 + [0.5, 0.5])
ADDS = ("add-remove-record",)


def subject(code, *, datasets=NUMBERS, relation="add-remove-record", **more):
    given = {"parameters": ({"epsilon": 1.0},), "relations": ADDS} | more
    claim = PackageClaim(epsilon="epsilon", relation=relation, where=f"{code}: as it says")
    return Subject(
        name=code, code=code, claims=(claim,), datasets=datasets, bounds=(0.0, 1.0), **given
    )


def package(*subjects):
    return Package(
        name="toy",
        distribution="toy",
        code="toy_mechanisms",
        versions=("1.0",),
        subjects=subjects,
    )


CORRECT = (
    subject("laplace_sum", parameters=({"epsilon": 1.0}, {"epsilon": 0.25})),
    subject("geometric_count"),
    Subject(
        name="gaussian_sum",
        code="gaussian_sum",
        claims=(PackageClaim(rho="rho", relation="add-remove-record", where="as it says"),),
        parameters=({"rho": 0.5},),
        datasets=NUMBERS,
        bounds=(0.0, 1.0),
        relations=ADDS,
    ),
    subject("histogram", datasets=(["a"], ["a", "b", "b"])),
    subject(
        "randomised_response",
        relation="replace-record",
        relations=("replace-record", "add-remove-record"),
    ),
)
BROKEN = (
    subject("no_sensitivity"),
    subject("missing_shows"),
    subject("keys_show", datasets=(["a"], ["a", "b", "b"])),
    subject("empty_raises"),
    subject("warns"),
)
_SOME = ([0.1, 0.3, 0.5], [0.0, 0.2, 0.3, 0.4, 1.0])
HIDDEN = tuple(
    subject(code, datasets=_SOME, nan=False)
    for code in (
        "marks_a_value",
        "marks_a_range",
        "peaks_inside",
        "least_of_many",
        "all_are_one",
        "median_of_many",
        "peaks_unseen",
    )
)
COUNTS_A_VALUE = subject("counts_a_value", datasets=_SOME)
PACKAGE = package(*CORRECT)
