"""What Hu et al. state about ADMM sharing."""

from dpaudit.extension.claim import Claim

_NEIGHBOURS = {
    "unit rows": "every row of D_m has norm 1",
    "unit rows of the neighbour": "every row of D_m' has norm 1",
    "one column differs": "D_m and D_m' differ in one column",
    "close neighbours": "||D_m - D_m'||_F is at most 1",
}
_BOUNDED = {
    "unit rows of the others": "every row of every other D_k has norm 1",
    "bounded model": "||x_m|| is at most b_1",
    "bounded model of the neighbour": "||x_m|| on D_m' is at most b_1",
    "bounded models of the others": "||x~_k|| is at most b_1 for every other party",
    "bounded dual": "||y|| is at most b_1",
    "bounded prediction": "||z|| is at most b_1",
}

LEMMA_1 = Claim(
    name="hu2020-lemma1",
    title="Sensitivity of a party's message",
    statement=(
        "Replacing one feature column moves D_m x_m of eq. (6) by at most "
        "3 / (d_m rho) [lambda c_1 + (1 + M rho) b_1] in L2 norm."
    ),
    source="Hu et al., ADMM sharing over vertically split features, NeurIPS 2020, Lemma 1",
    kind="sensitivity",
    relation="replace-column",
    assumptions=_NEIGHBOURS | _BOUNDED,
    prepare="dpaudit.algorithms.sharing.claims.hu2020.lemma1:lemma1_case",
    parameters="dpaudit.algorithms.sharing.claims.hu2020.parameters:Parameters",
    published={
        "8 features": {"parameters": {"features": 8}},
        "32 features": {"parameters": {"features": 32}},
    },
)

THEOREM_1 = Claim(
    name="hu2020-theorem1",
    title="Privacy of one iteration",
    statement=(
        "With sigma = sqrt(2 ln(1.25/delta)) C / epsilon, where C is the bound of Lemma 1 and "
        "epsilon is in (0, 1], what a party sends in an iteration is (epsilon, delta)-DP."
    ),
    source="Hu et al., ADMM sharing over vertically split features, NeurIPS 2020, Theorem 1",
    kind="privacy",
    relation="replace-column",
    assumptions=_NEIGHBOURS
    | _BOUNDED
    | {"independent columns": "D_m'D_m can be inverted, on both datasets"},
    prepare="dpaudit.algorithms.sharing.claims.hu2020.theorem1:theorem1_case",
    parameters="dpaudit.algorithms.sharing.claims.hu2020.parameters:Theorem1Parameters",
    published={
        "corrected sensitivity": {"parameters": {"sensitivity": "corrected"}},
        "noise on the model": {"parameters": {"variant": "parameter"}},
        "whitened noise": {"parameters": {"variant": "whitened"}},
    },
)

ASSUMPTION_1 = Claim(
    name="hu2020-assumption1",
    title="Iterates and duals stay bounded",
    statement=(
        "Throughout a run the norms of the models x_m, as solved and as sent, of the dual variable "
        "y and of z are at most b_1."
    ),
    source="Hu et al., ADMM sharing over vertically split features, NeurIPS 2020, Assumption 1.1",
    kind="property",
    relation="replace-column",
    assumptions={"unit rows": "every row of every D_m has norm 1 (Assumption 1.3)"},
    prepare="dpaudit.algorithms.sharing.claims.hu2020.assumption1:assumption1_case",
    parameters="dpaudit.algorithms.sharing.claims.hu2020.parameters:Assumption1Parameters",
    published={
        "without noise": {"parameters": {"noise": "none", "iterations": 100}},
        "noise on the message": {"parameters": {"noise": "message"}},
        "whitened noise": {"parameters": {"noise": "whitened"}},
    },
)

COROLLARY_1 = Claim(
    name="hu2020-corollary1",
    title="Composition over iterations",
    statement=(
        "If each of T iterations is (epsilon, delta)-DP, all of them are (epsilon', T delta + "
        "delta')-DP with epsilon' = sqrt(2 T ln(1/delta')) epsilon + T epsilon (e^epsilon - 1)."
    ),
    source=(
        "Hu et al., ADMM sharing over vertically split features, NeurIPS 2020, Corollary 1, "
        "eq. (10)"
    ),
    kind="privacy",
    relation="replace-column",
    assumptions={
        "private iterations": "each iteration is (epsilon, delta)-DP given those before (Theorem 1)"
    },
    prepare="dpaudit.algorithms.sharing.claims.hu2020.corollary1:corollary1_case",
    parameters="dpaudit.algorithms.sharing.claims.hu2020.parameters:Corollary1Parameters",
)
