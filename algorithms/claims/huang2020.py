"""What Huang & Gong state about multi-step DP-ADMM."""

from dpaudit.claims import Claim

_ASSUMPTIONS = {
    "convex loss": "the loss is convex in the model",
    "Lipschitz loss": "the loss is c_1-Lipschitz in the model for every record",
    "bounded records": "records have Euclidean norm at most 1 and labels in {-1, +1}",
    "one tuple differs": "the datasets differ in one tuple of one node",
    "connected graph": "the graph of nodes is connected",
}

LEMMA_5 = Claim(
    name="huang2020-lemma5",
    title="Sensitivity of one inner update",
    statement=(
        "Replacing one record moves the update (13a) of its node by at most "
        "2 c_1 / ((2 rho |V_i| + eta) m_i) in L2 norm."
    ),
    source="Huang & Gong, multi-step DP-ADMM, Lemma 5, eq. (16)",
    kind="sensitivity",
    relation="replace-record",
    assumptions=_ASSUMPTIONS,
    prepare="algorithms.claims.huang2020_cases:lemma5",
    parameters="algorithms.claims.huang2020_parameters:Parameters",
)

THEOREM_6 = Claim(
    name="huang2020-theorem6",
    title="Privacy of the whole run",
    statement=(
        "With sigma = c_0 sqrt(2 t l ln(1.25/delta)) / epsilon, for arbitrary epsilon, all noisy "
        "inner models of t iterations with l steps each are (epsilon, delta)-DP; c_0 = 1 unless "
        "given."
    ),
    source="Huang & Gong, multi-step DP-ADMM, Theorem 6, eq. (20)",
    kind="privacy",
    relation="replace-record",
    assumptions=_ASSUMPTIONS | {"published noise": "sigma is the one of eq. (20)"},
    prepare="algorithms.claims.huang2020_cases:theorem6",
    parameters="algorithms.claims.huang2020_parameters:Parameters",
)
