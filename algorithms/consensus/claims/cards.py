"""What Zhang, Khalili & Liu state about M-ADMM and penalty perturbation."""

from dpaudit.extension.claim import Claim

_PAPER = "Zhang, Khalili & Liu, Improving the Privacy and Accuracy of ADMM-Based Algorithms"
_PENALTIES = {
    "penalties at least theta": "eta_i(t) is at least theta > 0",
    "connected graph": "every node is reachable from every other",
}
_FIGURE_1A = {
    "nodes": 5,
    "dual_step": 0.5,
    "first": [0.55, 0.65, 0.6, 0.55, 0.6],
    "growth": [1.01, 1.03, 1.1, 1.2, 1.02],
    "iterations": 2500,
    "ridge": 0.1,
    "budget": 100,
}
_SECTION_4 = {
    "unit records": "every record has norm at most 1",
    "loss": "|l'| is at most 1 and 0 < l'' <= c_1 (Assumption 4)",
    "weight at most records": "C is at most B_i",
    "penalties at least theta": "eta_i(t) is at least theta",
    "small curvature": "2 c_1 < (B_i / C) (rho / N + 2 theta V_i)",
}

THEOREM_31 = Claim(
    name="zhang2018-theorem31",
    title="Convergence of M-ADMM",
    statement=(
        "M-ADMM (10), (11) satisfies inequality (19), and if eta_i(t+1) >= eta_i(t) >= theta > 0 "
        "and eta_i(t) < infinity for all t and i, its outputs converge to the optimum (17), (18)."
    ),
    source=f"{_PAPER}, ICML 2018, Theorem 3.1",
    kind="property",
    relation="none",
    assumptions=_PENALTIES
    | {
        "penalties do not fall": "eta_i(t+1) is at least eta_i(t)",
        "finite penalties": "eta_i(t) is finite for every t; all of them need not be bounded",
        "convex and differentiable": "O_i is convex and continuously differentiable",
        "strongly convex": "O_i is strongly convex, beyond what the theorem asks",
    },
    prepare="dpaudit.algorithms.consensus.claims.cases:theorem31_case",
    parameters="dpaudit.algorithms.consensus.claims.parameters:Theorem31Parameters",
    published={
        "penalties-of-figure-1a": {"parameters": _FIGURE_1A},
        "two-nodes": {"parameters": {"nodes": 2, "loss": "linear", "dual_step": 1.0}},
        "inequality-19": {"parameters": {"part": "inequality"}},
        "inequality-19-shared-penalty": {
            "parameters": {"part": "inequality", "penalties": "shared"}
        },
        "bounded-penalties": {"parameters": {"part": "bounded", "nodes": 5, "budget": 20_000}},
    },
)

THEOREM_32 = Claim(
    name="zhang2018-theorem32",
    title="Rate of convergence of M-ADMM",
    statement=(
        "Under Assumption 3, (1 + delta(t)) ||Z(t) - Z*||_J^2 <= ||Z(t-1) - Z*||_J^2 in the norm "
        "of J(t), with the delta(t) of eq. (23) for any mu > 1."
    ),
    source=f"{_PAPER}, ICML 2018, Theorem 3.2, eq. (23)",
    kind="property",
    relation="none",
    assumptions=_PENALTIES
    | {
        "strongly convex": "O_i is m_i-strongly convex with M_i-Lipschitz gradients",
        "mu above 1": "mu is any number above 1",
    },
    prepare="dpaudit.algorithms.consensus.claims.cases:theorem32_case",
    parameters="dpaudit.algorithms.consensus.claims.parameters:Theorem32Parameters",
    published={
        "penalties-of-their-own": {"parameters": {"penalties": "own"}},
        "proved-rate": {"parameters": {"rate": "proved"}},
        "two-nodes": {"parameters": {"nodes": 2}},
    },
)

THEOREM_41 = Claim(
    name="zhang2018-theorem41",
    title="Pure differential privacy of penalty perturbation",
    statement=(
        "Penalty perturbation (Algorithm 1) is beta-DP over all broadcasts of T iterations, beta = "
        "max_i sum_t C (1.4 c_1 + alpha_i(t)) / (eta_i(t) V_i B_i)."
    ),
    source=f"{_PAPER}, ICML 2018, Theorem 4.1, eq. (26)",
    kind="privacy",
    relation="replace-record",
    assumptions=_SECTION_4,
    prepare="dpaudit.algorithms.consensus.claims.theorem41:theorem41_case",
    parameters="dpaudit.algorithms.consensus.claims.parameters:Theorem41Parameters",
    published={
        "little-noise": {"parameters": {"noise_rate": 30.0}},
        "start-at-zero": {"parameters": {"start": "zero"}},
        "without-the-condition-on-theta": {
            "parameters": {"penalty": 0.01, "dual_step": 0.01, "records": 1}
        },
    },
)

BROADCASTS = Claim(
    name="zhang2018-broadcasts",
    title="What all broadcasts of penalty perturbation leak",
    statement=(
        "All broadcasts of T iterations of penalty perturbation (Algorithm 1) are (beta, delta)-DP "
        "for every delta >= 0, beta the sum of eq. (26): what Theorem 4.1 implies. How much less "
        "do they leak at a delta above 0, on real records?"
    ),
    source=f"{_PAPER}, ICML 2018, Theorem 4.1, eq. (26) and (58)-(61)",
    kind="privacy",
    relation="replace-record",
    assumptions=_SECTION_4,
    prepare="dpaudit.algorithms.consensus.claims.broadcasts:broadcasts_case",
    parameters="dpaudit.algorithms.consensus.claims.parameters:BroadcastsParameters",
)
