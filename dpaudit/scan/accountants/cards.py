"""The accountants that are scanned, and the promises of their documentation about answers."""

from __future__ import annotations

from dpaudit.errors import UnknownName
from dpaudit.scan.accountants.card import AccountantCard, AccountantMethod, PublicFault

_REPLACE = "replace-record"
# Answers that this project has quoted as wrong since it compared accountants.
_HERE = "tests/accounting/test_known_wrong_answers.py"
_SENSITIVITY = "https://github.com/google/differential-privacy/issues/378"

DP_ACCOUNTING = AccountantCard(
    name="dp-accounting",
    distribution="dp-accounting",
    versions=("0.6.0",),
    home="https://github.com/google/differential-privacy/tree/main/python/dp_accounting",
    methods=(
        AccountantMethod(
            name="PLDAccountant",
            states="upper bound",
            where="PrivacyAccountant.get_epsilon: the current epsilon, accounting for all composed "
            "events; distributions are rounded pessimistically by default. Randomised response is "
            "asked under the relation it is defined for, the replacement of a record",
            known=(PublicFault(thread=_HERE, kinds=("response",)),),
        ),
        AccountantMethod(
            name="PLDAccountant, replace one",
            states="upper bound",
            where="as PLDAccountant, with NeighboringRelation.REPLACE_ONE; GaussianDpEvent is the "
            "sum of values of norm at most C and noise of noise_multiplier times C",
            relation=_REPLACE,
        ),
        AccountantMethod(
            name="RdpAccountant",
            states="upper bound",
            where="PrivacyAccountant.get_epsilon; RdpAccountant.rdp: the RDP values at each order",
        ),
        AccountantMethod(
            name="RdpAccountant, replace one",
            states="upper bound",
            where="as RdpAccountant, with NeighboringRelation.REPLACE_ONE; GaussianDpEvent is the "
            "sum of values of norm at most C and noise of noise_multiplier times C",
            relation=_REPLACE,
            known=(PublicFault(thread=_SENSITIVITY, kinds=("gaussian",)),),
        ),
        AccountantMethod(
            name="pessimistic distribution",
            states="upper bound",
            where="privacy_loss_distribution, pessimistic_estimate=True: the hockey-stick "
            "divergence computed is an upper estimate of the real value",
        ),
        AccountantMethod(
            name="optimistic distribution",
            states="lower bound",
            where="privacy_loss_distribution, pessimistic_estimate=False: rounded the other way, "
            "for a lower estimate",
            known=(PublicFault(thread=_HERE),),
        ),
        AccountantMethod(
            name="get_epsilon_gaussian",
            states="upper bound",
            where="gaussian_mechanism: epsilon, or noise, of the Gaussian mechanism with the given "
            "parameters, to a tolerance of 1e-12",
        ),
        AccountantMethod(
            name="advanced_composition",
            states="upper bound",
            where="pld.accountant.advanced_composition: total_epsilon such that the result is "
            "still (total_epsilon, total_delta)-DP",
            known=(PublicFault(thread=_HERE, kinds=("pure", "approximate")),),
        ),
        AccountantMethod(
            name="get_smallest_noise",
            states="upper bound",
            where="pld.accountant.get_smallest_*_noise: the smallest noise for which the mechanism "
            "satisfies the desired guarantee",
        ),
    ),
)

PRV_ACCOUNTANT = AccountantCard(
    name="prv-accountant",
    distribution="prv-accountant",
    versions=("0.2.0",),
    home="https://github.com/microsoft/prv_accountant",
    requirements=("setuptools<81",),
    methods=(
        AccountantMethod(
            name="PRVAccountant",
            states="bounds",
            where="PRVAccountant.compute_epsilon: returns lower bound, estimate and upper bound",
            known=(PublicFault(thread=_HERE, kinds=("pure", "response")),),
        ),
    ),
)

AUTODP = AccountantCard(
    name="autodp",
    distribution="autodp",
    versions=("0.2.3.1",),
    home="https://github.com/yuxiangw/autodp",
    methods=(
        AccountantMethod(
            name="Composition",
            states="upper bound",
            where="autodp_core.Mechanism.get_approxDP: epsilon as a function of delta; "
            "get_RDP: the divergence as a function of the order",
        ),
        AccountantMethod(
            name="one mechanism",
            states="upper bound",
            where="autodp_core.Mechanism.get_approxDP and get_RDP of one mechanism",
        ),
        AccountantMethod(
            name="ComposeGaussian",
            states="upper bound",
            where="transformer_zoo.ComposeGaussian: composes Gaussian mechanisms exactly",
        ),
        AccountantMethod(
            name="ComposeAFA",
            states="estimate",
            where="transformer_zoo.ComposeAFA: the Fourier accountant, exact up to quadrature",
            known=(PublicFault(thread=_HERE),),
        ),
    ),
)

OPACUS = AccountantCard(
    name="opacus",
    distribution="opacus",
    versions=("1.6.0",),
    home="https://github.com/pytorch/opacus",
    methods=(
        AccountantMethod(
            name="RDPAccountant",
            states="upper bound",
            where="RDPAccountant.get_epsilon: the privacy budget expended so far; compute_rdp: RDP "
            "guarantees of the sampled Gaussian mechanism",
        ),
        AccountantMethod(
            name="PRVAccountant",
            states="upper bound",
            where="PRVAccountant.get_epsilon: returns the upper bound, 'as we want guarantee, not "
            "just estimate'",
        ),
        AccountantMethod(
            name="GaussianAccountant",
            states="estimate",
            where="GaussianAccountant warns that it 'can underestimate privacy expenditure'",
            known=(PublicFault(thread="https://arxiv.org/abs/2106.02848"),),
        ),
        AccountantMethod(
            name="get_noise_multiplier",
            states="upper bound",
            where="get_noise_multiplier: the noise level sigma to ensure the privacy budget",
        ),
    ),
)

SMARTNOISE_SQL = AccountantCard(
    name="smartnoise-sql",
    distribution="smartnoise-sql",
    versions=("1.0.10",),
    home="https://github.com/opendp/smartnoise-sdk",
    methods=(
        AccountantMethod(
            name="Odometer",
            states="upper bound",
            where="Odometer.spent: k-fold homogeneous composition from Kairouz et al., Theorem 3.4",
        ),
        AccountantMethod(
            name="OdometerHeterogeneous",
            states="upper bound",
            where="OdometerHeterogeneous.spent: heterogeneous composition from Kairouz et al., "
            "Theorem 3.5",
        ),
    ),
)

DIFFPRIVLIB = AccountantCard(
    name="diffprivlib",
    distribution="diffprivlib",
    versions=("0.6.6",),
    home="https://github.com/IBM/differential-privacy-library",
    requirements=("scikit-learn<1.7",),
    methods=(
        AccountantMethod(
            name="BudgetAccountant",
            states="upper bound",
            where="BudgetAccountant.total: the total current privacy spend, by the rules of "
            "Kairouz, Oh and Viswanath 2017",
        ),
    ),
)

JAX_PRIVACY = AccountantCard(
    name="jax-privacy",
    distribution="jax-privacy",
    versions=("2.0.0",),
    home="https://github.com/google-deepmind/jax_privacy",
    methods=(
        AccountantMethod(
            name="RdpAccountantConfig",
            states="upper bound",
            where="accounting.accountants: bounds on DP epsilon (given delta) for DP-SGD",
        ),
        AccountantMethod(
            name="PldAccountantConfig",
            states="upper bound",
            where="accounting.accountants: bounds on DP epsilon (given delta) for DP-SGD",
        ),
        AccountantMethod(
            name="CanaryScoreAuditor.epsilon_from_gdp",
            states="lower bound",
            audits=True,
            where="CanaryScoreAuditor.epsilon_from_gdp: an epsilon by Gaussian DP; significance is "
            "the allowed probability of failure, one minus the confidence",
            known=(PublicFault(thread="https://github.com/google-deepmind/jax_privacy/pull/270"),),
        ),
        AccountantMethod(
            name="CanaryScoreAuditor.epsilon_clopper_pearson",
            states="lower bound",
            audits=True,
            where="CanaryScoreAuditor.epsilon_clopper_pearson: a lower bound of epsilon; "
            "significance is the allowed probability of failure",
        ),
    ),
)

PRIVACY_ESTIMATES = AccountantCard(
    name="privacy-estimates",
    distribution="privacy-estimates",
    versions=("0.1.0.post1",),
    home="https://github.com/microsoft/responsible-ai-toolbox-privacy",
    methods=tuple(
        AccountantMethod(
            name=f"compute_eps_lo, {method}",
            states="lower bound",
            audits=True,
            where="compute_eps_lo: at most epsilon with a confidence of 100 (1 - alpha)%",
        )
        for method in ("beta", "jeffreys")  # joint-beta takes seconds a bound
    ),
)

RISKCAL = AccountantCard(
    name="riskcal",
    distribution="riskcal",
    versions=("1.5.1",),
    home="https://github.com/bogdan-kulynych/riskcal",
    methods=(
        AccountantMethod(
            name="CTDAccountant",
            states="upper bound",
            where="CTDAccountant.get_epsilon, get_advantage: by connect-the-dots of dp-accounting",
        ),
        AccountantMethod(
            name="get_advantage_from",
            states="upper bound",
            where="analysis.get_advantage_from_gdp, _adp and _zcdp: the maximum of TPR less FPR "
            "achievable by any attacker",
        ),
    ),
)

TENSORFLOW_PRIVACY = AccountantCard(
    name="tensorflow-privacy",
    distribution="tensorflow-privacy",
    versions=("0.9.0",),
    home="https://github.com/tensorflow/privacy",
    methods=(
        AccountantMethod(
            name="RDP",
            states="upper bound",
            where="compute_dp_sgd_privacy_lib: add-or-remove-one-example DP epsilon, by RDP",
        ),
        AccountantMethod(
            name="PLD",
            states="upper bound",
            where="compute_dp_sgd_privacy_lib: add-or-remove-one-example DP epsilon, by PLD",
        ),
        AccountantMethod(
            name="gdp_accountant",
            states="estimate",
            where="gdp_accountant: applies the central limit theorem to estimate the budget",
        ),
    ),
)

ACCOUNTANTS = {
    card.name: card
    for card in (
        AUTODP,
        DIFFPRIVLIB,
        DP_ACCOUNTING,
        JAX_PRIVACY,
        OPACUS,
        PRIVACY_ESTIMATES,
        PRV_ACCOUNTANT,
        RISKCAL,
        SMARTNOISE_SQL,
        TENSORFLOW_PRIVACY,
    )
}


def get_accountant_card(name: str) -> AccountantCard:
    """Return the card of an accountant.

    Raises
    ------
    UnknownName
        There is none of that name.

    Examples
    --------
    >>> get_accountant_card("prv-accountant").package.pins("0.2.0")[0]
    'prv-accountant==0.2.0'
    """
    if name not in ACCOUNTANTS:
        raise UnknownName("accountant", name, ACCOUNTANTS)
    return ACCOUNTANTS[name]
