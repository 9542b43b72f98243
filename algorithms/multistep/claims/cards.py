"""What Huang & Gong state about multi-step DP-ADMM."""

from dpaudit.extension.claim import Claim

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
    prepare="dpaudit.algorithms.multistep.claims.cases:lemma5",
    parameters="dpaudit.algorithms.multistep.claims.parameters:Parameters",
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
    prepare="dpaudit.algorithms.multistep.claims.cases:theorem6",
    parameters="dpaudit.algorithms.multistep.claims.parameters:Parameters",
    published={
        "epsilon = 20": {"epsilon": 20.0},
        "epsilon = 20, c_0 of the proof": {"epsilon": 20.0, "parameters": {"c0_of_proof": True}},
    },
)

THEOREM_4 = Claim(
    name="huang2020-theorem4",
    title="Advanced composition",
    statement=(
        "The t-fold adaptive composition of (epsilon, delta)-DP algorithms is "
        "(c_0 sqrt(t) epsilon, delta)-DP for some constant c_0, for any epsilon, delta >= 0; "
        "audited as a bound on delta at epsilon' = c_0 sqrt(t) epsilon. c_0 = 1 unless given."
    ),
    source="Huang & Gong, multi-step DP-ADMM, Theorem 4",
    kind="property",
    relation="replace-record",
    assumptions={"private algorithms": "every algorithm is (epsilon, delta)-DP"},
    prepare="dpaudit.algorithms.multistep.claims.composition:theorem4",
    parameters="dpaudit.algorithms.multistep.claims.parameters:Composition",
    published={
        "epsilon = 0": {"epsilon": 0.0},
        "c_0 = 100": {"parameters": {"c0": 100.0}},
        "delta = 0": {"delta": 0.0},
        "c_0 of the proof": {"parameters": {"c0_of_proof": True}},
        "Gaussian mechanisms": {"epsilon": 0.5, "parameters": {"algorithms": "gaussian"}},
        "Gaussian mechanisms, many": {
            "epsilon": 0.5,
            "parameters": {"algorithms": "gaussian", "count": 1000},
        },
    },
)

THEOREM_7 = Claim(
    name="huang2020-theorem7",
    title="Utility",
    statement=(
        "If the objective L is c_2-Lipschitz, models lie in a set of diameter D and every "
        "||gamma_ij|| <= beta, then with eta of eq. (23) the models w^_i of eq. (22) have "
        "E[sum_i L_i(w^_i) - L_i(w*)] + beta sum_i sum_(j in N_i) ||w^_i - w^_j|| <= "
        "sum_i [ sqrt(2) D / sqrt(t l) sqrt(c_2^2 / n^2 + d c_0^2 c_1^2 t l 8 ln(1.25/delta) / "
        "(epsilon^2 m_i^2)) + |N_i| (rho D^2 + beta^2 / rho) / t ]."
    ),
    source="Huang & Gong, multi-step DP-ADMM, Theorem 7, eq. (24)",
    kind="property",
    relation="replace-record",
    assumptions={
        "Lipschitz objective": "the sum L of all L_i is c_2-Lipschitz, each loss c_1-Lipschitz",
        "bounded models": "all iterates, with their noise, and w* lie in a set of diameter D",
        "bounded duals": "every dual gamma_ij has norm at most beta",
        "clear of kinks": "noise within the bounded sets changes no gradient",
        "noise stays inside": "runs leave the bounded sets with a negligible probability",
    },
    prepare="dpaudit.algorithms.multistep.claims.utility:theorem7",
    parameters="dpaudit.algorithms.multistep.claims.parameters:Utility",
    published={
        "c_2 of every node": {"parameters": {"lipschitz": "node"}},
        "one node": {"parameters": {"nodes": 1}},
        "one node, one step": {"parameters": {"nodes": 1, "iterations": 1}},
        "several inner steps": {"parameters": {"iterations": 20, "inner_steps": 5}},
    },
)

BROADCAST = Claim(
    name="huang2020-broadcast",
    title="What the broadcast averages leak",
    statement=(
        "A question of this project, not a claim of the paper: the averages of the inner models, "
        "all that is sent, leak no more than all inner models do, for which exact composition with "
        "Lemma 5 gives an epsilon. How much less do they leak?"
    ),
    source="about Huang & Gong, multi-step DP-ADMM, Algorithm 1, line 13, and Note 2",
    kind="privacy",
    relation="replace-record",
    assumptions=_ASSUMPTIONS | {"published noise": "sigma is the one of eq. (20)"},
    prepare="dpaudit.algorithms.multistep.claims.broadcast:broadcast",
    parameters="dpaudit.algorithms.multistep.claims.parameters:Broadcast",
    published={
        "many inner steps": {"parameters": {"iterations": 2, "inner_steps": 25}},
        "logistic loss": {"trials": 2_000, "parameters": {"loss": "logistic"}},
    },
)
