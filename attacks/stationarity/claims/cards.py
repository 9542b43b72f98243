"""What Zhang, Khalili & Liu say an attacker can and cannot infer from penalty perturbation."""

from dpaudit.extension.claim import Claim

_ASSUMPTIONS = {
    "one record is missing": "the attacker knows all records of the node but one",
    "uniform record": "the missing record's signed direction is uniform, independent of all else",
    "unit rows": "every record has norm at most 1",
    "loss weight": "C is at most B_i",
    "growing penalties": "eta_i(t) does not fall and is at least theta",
    "theta of Algorithm 1": "2 c_1 is below (B_i/C)(rho/N + 2 theta V_i)",
}

APPENDIX_E = Claim(
    name="zhang2018-appendixE",
    title="Averaging with known penalties",
    statement=(
        "If the attacker knows theta and eta_i(t), it determines the features of the unknown "
        "individual up to a scaling factor by averaging the stationarity conditions. Made precise: "
        "in at least half of the independent runs the average is within an angle of the record "
        "that guesses reach so often with probability at most 1e-6."
    ),
    source="Zhang, Khalili & Liu, ADMM with penalty perturbation, ICML 2018, Appendix E",
    kind="property",
    relation="replace-record",
    assumptions=_ASSUMPTIONS,
    prepare="dpaudit.attacks.stationarity.claims.cases:appendix_e_case",
    parameters="dpaudit.attacks.stationarity.claims.cases:Parameters",
)

SECTION_6_2 = Claim(
    name="zhang2018-section62",
    title="Private penalties hide the record",
    statement=(
        "If the penalty parameters eta_i(t) are private to each node, then it is impossible for "
        "the attacker to infer the unknown data. Made precise: every estimate is independent of "
        "the missing record, so the number of independent runs in which its cosine with the record "
        "exceeds c is binomial with the probability of a guess; it exceeds the bound with "
        "probability at most 1e-9."
    ),
    source="Zhang, Khalili & Liu, ADMM with penalty perturbation, ICML 2018, section 6.2",
    kind="property",
    relation="replace-record",
    assumptions=_ASSUMPTIONS,
    prepare="dpaudit.attacks.stationarity.claims.cases:section62_case",
    parameters="dpaudit.attacks.stationarity.claims.cases:Parameters",
    published={"no noise": {"parameters": {"noise": False, "iterations": 2, "runs": 50}}},
)
