r"""Pure differential privacy of penalty perturbation: Theorem 4.1 of zhang2018, proved.

Assumptions 4 and 5, records of norm at most 1, ``eta_i(t) >= theta``, rho >= 0, and penalties and
rates that do not depend on the records. Let one record of node i change, u = y x becoming w.

1. **One node.** Given all earlier broadcasts, the noise of different nodes is independent, and
   nodes with the same records have the same conditional law. The density of all broadcasts is a
   product over iterations of those, and f(0) has one law: the ratio of the two densities is a
   product over t of one ratio each, node i's (57), (59).
2. **Change of variables.** (24) is strongly convex in f with modulus ``q = rho/N + 2 eta V > 0``,
   so each noise e has one minimiser f, and each f comes from one e, that of (58). So f has the
   density ``p(e(f)) |det J|`` with J the Jacobian of (58): (60), (61).
3. **Noise.** ``p(e)/p(e^) = exp(alpha (||e^|| - ||e||)) <= exp(alpha ||e^ - e||)``. In (58) only
   the record's term differs: ``2 eta V (e^ - e) = (C/B)(L'(u'f) u - L'(w'f) w)``, of norm at most
   ``2 C/B``. That is a factor of at most ``exp(C alpha / (eta V B))``: (62), (63).
4. **Determinants.** ``2 eta V`` times minus J is ``H_0 + c_u u u'`` on one dataset and ``H_0 + c_w
   w w'`` on the other, ``H_0 >= q I``, ``0 <= c_u, c_w <= C c_1 / B``. By the matrix determinant
   lemma ``det(H_0 + c u u') = det(H_0)(1 + c u'H_0^-1 u)``, in ``[1, 1 + a] det(H_0)`` with ``a =
   C c_1 / (B q)``: the ratio is at most ``1 + a <= exp(a)``, and ``a <= C c_1 / (2 eta V B)``.
5. **Sum.** A run's log-ratio is at most ``sum_t (alpha C / (eta V B) + ln(1 + a))``, and that at
   most ``sum_t C (alpha + c_1/2) / (eta V B)``. (26) has 1.4 for 1/2, so it is met, with room.
   Densities whose ratio is bounded everywhere give all sets that bound: Definition 4.1. The node
   is not known, hence the maximum over nodes.

Step 4 does not use ``2 c_1 < (B/C)(rho/N + 2 theta V)``, which the paper needs for its own; each
line of appendix D is a row of the ledger (`dpaudit.algorithms.consensus.statements`), with its
identity checked as polynomials.

`dpaudit.prove` reads step 3 from code where an update has a closed form: of the loss ``L(z) = -z``
the minimiser is a query plus noise, and what it proves is (63) exactly. It stops where an
update is a minimiser that is found by iterations, which use the noise more than once, or by
``numpy.linalg.solve`` of what records decide: there step 4 is needed, for which it has no rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.algorithms.consensus.claims.outputs import Outputs
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class Theorem41Parameters(Parameters):
    """Public parameters of penalty perturbation, of the search's datasets, and the budget."""

    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")
    nodes: int = Field(2, ge=2, le=30, description="N, a complete graph")
    records: int = Field(2, ge=1, le=200, description="B_i")
    dimension: int = Field(2, ge=1, le=50, description="d")
    iterations: int = Field(3, ge=1, le=50, description="T")
    penalty: float = Field(0.5, gt=0, description="eta_i(1)")
    growth: float = Field(1.1, ge=1, description="eta_i(t+1) / eta_i(t)")
    dual_step: float = Field(0.5, gt=0, description="theta")
    noise_rate: float = Field(3.0, gt=0, description="alpha_i(1)")
    noise_growth: float = Field(1.0, gt=0, description="alpha_i(t+1) / alpha_i(t)")
    loss_weight: float = Field(1.0, gt=0, description="C")
    regulariser_weight: float = Field(1e-2, gt=0, description="rho")
    start: Literal["any", "zero"] = Field("any", description="f(0): any output, or 0")
    budget: int = Field(12_000, ge=100, description="evaluated outputs, unless --trials is given")


def prepare_theorem41_search(settings: Settings, parameters: Theorem41Parameters) -> SearchCase:
    """Return the audit of Theorem 4.1 on a complete graph: the largest exact loss of an output.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_theorem41_search(Settings(), Theorem41Parameters())
    >>> round(case.bound, 4), round(case.proved[0], 4), case.at_delta
    (9.164, 8.5289, 0.0)
    """
    from dpaudit.algorithms.consensus.claims.outputs import make_bounded_loss_search
    from dpaudit.algorithms.consensus.claims.section4 import (
        check_section4_assumptions,
        public_conditions,
    )
    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.extension.case import SearchCase
    from dpaudit.refutation import searched

    refuse_data(settings)
    p, outputs = parameters, outputs_of(parameters)
    # The claim's parameters without those of the search, which the verifier does not need.
    stated = p.model_dump(mode="json", exclude={"budget", "start"}) | {"loss": "logistic"}
    public = public_conditions(p, outputs.algorithm)
    inequality, climb = make_bounded_loss_search(CLAIM, outputs, p.factor, public, stated)
    enforced = (True, "enforced, and checked on the output found")
    return SearchCase(
        bound=outputs.published * p.factor,
        attain=lambda budget, rng: searched(inequality, climb, budget, rng, seed=settings.seed),
        view="all broadcasts f_i(t), Definition 4.1",
        data="records of norm at most 1 at node 1, zeros elsewhere; searched with the outputs",
        relation=CLAIM.relation,
        pair="found by the search: one record of node 1 replaced",
        default_trials=p.budget,
        parameters=p.model_dump(mode="json"),
        at_delta=0.0,
        effort="evaluated outputs",
        assumptions=check_section4_assumptions(p, outputs.algorithm, unit=enforced, eta="eta"),
        proved=(
            outputs.proved,
            "alpha s + ln(1 + a) per update, s = C / (eta V B) and a = C c_1 / (B (rho/N + 2 eta "
            "V)): consensus.guarantees; never above eq. (26), and it needs no condition on theta",
        ),
        notes=(
            "Measured is the exact loss of one output, in its limit over outputs an epsilon that "
            "pure differential privacy cannot be below.",
        ),
    )


def outputs_of(parameters: Theorem41Parameters) -> Outputs:
    """Return the audited algorithm and the size of its datasets."""
    from dpaudit.algorithms.consensus.claims.outputs import Outputs
    from dpaudit.algorithms.consensus.claims.section4 import algorithm_of
    from dpaudit.algorithms.problems.graphs import complete

    return Outputs(
        algorithm=algorithm_of(parameters, complete(parameters.nodes)),
        records=parameters.records,
        dimension=parameters.dimension,
        any_start=parameters.start == "any",
    )


SECTION_4 = {
    "unit records": "every record has norm at most 1",
    "loss": "|l'| is at most 1 and 0 < l'' <= c_1 (Assumption 4)",
    "weight at most records": "C is at most B_i",
    "penalties at least theta": "eta_i(t) is at least theta",
    "small curvature": "2 c_1 < (B_i / C) (rho / N + 2 theta V_i)",
}

CLAIM = Claim(
    name="zhang2018-theorem41",
    title="Pure differential privacy of penalty perturbation",
    statement=(
        "Penalty perturbation (Algorithm 1) is beta-DP over all broadcasts of T iterations, beta = "
        "max_i sum_t C (1.4 c_1 + alpha_i(t)) / (eta_i(t) V_i B_i)."
    ),
    source=(
        "Zhang, Khalili & Liu, Improving the Privacy and Accuracy of ADMM-Based Algorithms, "
        "ICML 2018, Theorem 4.1, eq. (26)"
    ),
    kind="privacy",
    relation="replace-record",
    assumptions=SECTION_4,
    prepare=prepare_theorem41_search,
    parameters=Theorem41Parameters,
    scope="Tried over outputs and neighbours of a few records, from any start.",
    published={
        "little-noise": Variant(
            settings={"parameters": {"noise_rate": 30.0}},
            scope="Tried with alpha = 30.",
            printed=True,
        ),
        "start-at-zero": Variant(
            settings={"parameters": {"start": "zero"}},
            scope="Tried from zero, as Algorithm 1 may start.",
            printed=True,
        ),
        "without-the-condition-on-theta": Variant(
            settings={"parameters": {"penalty": 0.01, "dual_step": 0.01, "records": 1}},
            scope="Of fewer assumptions: theta is not what Algorithm 1 asks for.",
        ),
    },
)
