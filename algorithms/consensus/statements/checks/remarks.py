r"""Remarks of zhang2018 around its theorems: sections 2, 5 and 6.

Where one node with the function ``m f^2 / 2 - b f`` and one neighbour is enough, (25) is, with
noise e,

    f_1(t+1) = (b - 2 lambda_1 + eta (f_1(t) + f_2(t)) - 2 eta e) / (m + 2 eta).

The penalty pulls to the mean of f_1(t) and f_2(t), not to f_1(t), and the larger it is the more of
that mean, and of the noise in it, is left: e moves the model by ``2 eta / (m + 2 eta)`` of itself.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.algorithms.consensus.statements.checks.two_nodes import TwoNodes
from dpaudit.datasets.census import ADULT_FEATURES, COMPLETE_RECORDS, FILE_RECORDS
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import make_unknowns

_ZERO = Fraction(0)
_ONE = Fraction(1)
_HALF = Fraction(1, 2)
# A penalty, and a larger one.
_LOW = _HALF
_HIGH = _ONE
_C1 = Fraction(1, 4)
_LOG = Fraction(14, 10)


def compute_first_model_update(
    eta: Fraction, other: Fraction = _ZERO, noise: Fraction = _ZERO
) -> Fraction:
    """Return f_1(t+1) from f_1(t) = 0, with m = 1 and b = lambda_1 = 0.

    Examples
    --------
    >>> (
    ...     compute_first_model_update(Fraction(1), other=Fraction(1)),
    ...     compute_first_model_update(Fraction(1), noise=Fraction(1)),
    ... )
    (Fraction(1, 3), Fraction(-2, 3))
    """
    return eta * (other - 2 * noise) / (1 + 2 * eta)


def smaller_updates() -> tuple[Finding, ...]:
    """Refute that a larger penalty makes the update smaller: without noise, and with noise alone.

    O = f^2/2 and f_1(t) = 0, so the node stands at its own minimum.
    """
    pulled = [abs(compute_first_model_update(eta, other=_ONE)) for eta in (_HIGH, _LOW)]
    pushed = [abs(compute_first_model_update(eta, noise=_ONE)) for eta in (_HIGH, _LOW)]
    return (
        Finding(
            left=pulled[0],
            relation="<=",
            right=pulled[1],
            instance="O = f^2/2, f_i = 0, f_j = 1, no noise: update at eta = 1 and 1/2",
        ),
        Finding(
            left=pushed[0],
            relation="<=",
            right=pushed[1],
            instance="O = f^2/2, f_i = f_j = 0, noise 1: update at eta = 1 and 1/2",
        ),
    )


def resistance_to_noise() -> Finding:
    """Refute that a larger penalty resists noise better: the same noise moves the model further.

    The share ``2 eta V / (m + 2 eta V)`` of the noise that reaches the model does not depend on
    its law, so this holds regardless of that.
    """
    shares = [abs(compute_first_model_update(eta, noise=_ONE)) for eta in (_HIGH, _LOW)]
    words = "O = f^2/2, one neighbour: share of the noise that moves f_i, eta = 1 and 1/2"
    return Finding(left=shares[0], relation="<=", right=shares[1], instance=words)


def resistance_to_dual_noise() -> tuple[Finding, ...]:
    """Prove it of noise in the dual variable, of one law: its share ``2 / (m + 2 eta V)`` falls.

    In (24) the noise is ``eta V e`` in the dual variable; where that is held fixed, e falls. With
    ``p = m + 2 eta V`` and q at a larger eta, ``2/p - 2/q = 2 (q - p) / (p q)``, which is above 0.
    """
    p, q = make_unknowns("p q")
    shares = [abs(compute_first_model_update(eta, noise=_ONE / eta)) for eta in (_HIGH, _LOW)]
    words = "O = f^2/2, one neighbour, eta e = 1: update at eta = 1 and 1/2"
    return (
        Finding(left=shares[0], relation="<", right=shares[1], instance=words),
        make_identity_finding(2 / p - 2 / q, 2 * (q - p) / (p * q), "shares at two penalties"),
    )


def compute_noiseless_distances() -> tuple[Fraction, Fraction, Fraction]:
    """Return how far f_1 is from the optimum at t = 0, 1, 2, without noise.

    Two nodes with ``f^2/2 -+ 10 f``, all models 1 at the start, eta = 1 and theta = 4/5.

    Examples
    --------
    >>> [str(distance) for distance in compute_noiseless_distances()]
    ['1', '4', '2']
    """
    start = TwoNodes(
        penalties=(_ONE, _ONE),
        dual_step=Fraction(4, 5),
        curvatures=(_ONE, _ONE),
        slopes=(Fraction(10), Fraction(-10)),
        models=(_ONE, _ONE),
    )
    first = start.after()
    one, two, three = (state.gaps[0] for state in (start, first, first.after()))
    return abs(one), abs(two), abs(three)


def toward_optimum() -> Finding:
    """Refute that without noise a model always moves toward the optimum."""
    before, after, _ = compute_noiseless_distances()
    words = "two nodes, O_i = f^2/2 -+ 10 f, eta = 1, theta = 4/5, f_i(0) = 1: |f_1(1) - f*|"
    return Finding(left=after, relation="<=", right=before, instance=words)


def away_from_optimum() -> tuple[Finding, ...]:
    """Prove that with noise a model does not always move toward the optimum.

    Noise has a density on all of R^d, and (25) adds a multiple of it to the model: with a
    probability above 0 that is further away. Shown is one such output, from the optimum's distance
    0: O = f^2/2, f_i = f_j = 0, noise 1, eta = 1.
    """
    after = abs(compute_first_model_update(_ONE, noise=_ONE))
    return (Finding(left=_ZERO, relation="<", right=after, instance="|f_i(t) - f*|, then later"),)


def farther_with_noise() -> tuple[Finding, ...]:
    r"""Prove that more noise makes it more likely to move further away from the optimum.

    A step ends at ``c + s e`` from the optimum, c where it ends without noise, e symmetric or not,
    s its size. Let r be the distance before, and ``||c|| < r``, as section 6.1 supposes. The set
    ``K_s`` of all e with ``||c + s e|| <= r`` is ``K_1 / s``, and ``K_1`` is convex with 0 inside:
    ``K_s`` shrinks as s grows, and the probability outside does not fall. Checked are the ends of
    K_s in one dimension, with c = 1/2 and r = 1.
    """
    c, r = _HALF, _ONE

    def ends(size: Fraction) -> tuple[Fraction, Fraction]:
        return (-r - c) / size, (r - c) / size

    (low, high), (lower, higher) = ends(Fraction(2)), ends(_ONE)
    return (
        Finding(left=high, relation="<", right=higher, instance="upper end, s = 2 and 1"),
        Finding(left=lower, relation="<", right=low, instance="lower end, s = 1 and 2"),
    )


def compute_equation26_summand(eta: Fraction, rate: Fraction) -> Fraction:
    """Return ``C (1.4 c_1 + alpha) / (eta V B)`` of (26) with c_1 = 1/4 and C = V = B = 1."""
    return (_LOG * _C1 + rate) / eta


def more_noise() -> tuple[Finding, ...]:
    """Prove that more noise has a smaller bound: (26) grows with alpha, the rate of the noise.

    From alpha to ``alpha + h`` its summand grows by ``C h / (eta V B)``.
    """
    rate, more, eta, c1, weight, degree = make_unknowns("alpha h eta c_1 C/B V")
    low, high = (weight * (_LOG * c1 + at) / (eta * degree) for at in (rate, rate + more))
    return (make_identity_finding(high - low, weight * more / (eta * degree), "summands of (26)"),)


def growing_perturbation() -> tuple[Finding, ...]:
    r"""Prove that (26) falls where eta rises and the perturbation ``2 eta V e`` does not fall.

    That perturbation has the law of (24) with the rate ``alpha / (2 eta V)``. With ``k = alpha /
    eta`` the summand is ``1.4 C c_1 / (eta V B) + C k / (V B)``: the first part falls as eta rises,
    the second does not rise as k does not.
    """
    eta, k, c1 = make_unknowns("eta k c_1")
    split = _LOG * c1 / eta + k
    return (make_identity_finding((_LOG * c1 + k * eta) / eta, split, "C = V = B = 1"),)


def constant_perturbation() -> Finding:
    """Refute that the perturbation has to increase for a smaller bound: alpha rises with eta.

    ``2 eta V e`` keeps its law, and the part of (26) with c_1 falls.
    """
    before, after = (
        compute_equation26_summand(_LOW, _ONE),
        compute_equation26_summand(_HIGH, Fraction(2)),
    )
    words = "(26) before and after: alpha = 2 eta, eta = 1/2 and 1, C = V = B = 1"
    return Finding(left=before, relation="<=", right=after, instance=words)


def accumulating_loss() -> tuple[Finding, ...]:
    """Prove that the bound on the loss grows with every iteration: its summands are above 0.

    The loss of a run is not below that of its first iterations either, which are a part of what is
    seen.
    """
    sums = [sum((compute_equation26_summand(_ONE, _ONE) for _ in range(t)), _ZERO) for t in (1, 2)]
    return (Finding(left=sums[0], relation="<", right=sums[1], instance="P(1) and P(2)"),)


def almost_same_output() -> tuple[Finding, ...]:
    r"""Prove that a small epsilon makes the adversary's views almost the same.

    Of any set, ``P(S) - P^(S) <= (1 - e^-epsilon) P(S) <= epsilon``. Checked is randomised
    response, with the odds ``p = e^epsilon = 101/100``: the difference is ``(p - 1)/(p + 1)``, at
    most half of ``p - 1``.
    """
    odds = Fraction(101, 100)
    total = (odds - 1) / (odds + 1)
    return (Finding(left=total, relation="<=", right=(odds - 1) / 2, instance="e^eps = 101/100"),)


def sensitivity_of_noise() -> Finding:
    """Refute that the sensitivity does not depend on eta: that of the noise behind an output does.

    By the line after (62), with the gradients' difference at its bound 2: ``C / (eta V B)``.
    """
    low, high = 1 / _LOW, 1 / _HIGH
    words = "C / (eta V B) with C = V = B = 1, eta = 1/2 and 1"
    return Finding(left=low, relation="=", right=high, instance=words)


def sensitivity_of_gradient() -> tuple[Finding, ...]:
    """Prove it of the gradient, which ``2 eta V e`` perturbs: ``2 eta V`` times it is 2 C / B."""
    eta, weight, degree = make_unknowns("eta C/B V")
    shift = weight / (eta * degree)
    return (
        make_identity_finding(2 * eta * degree * shift, 2 * weight, "2 eta V times C / (eta V B)"),
    )


def many_directions() -> Finding:
    r"""Refute that section 4 remains valid for objectives of another form than margins.

    A record's part of O may be ``h(f)`` with gradients of at most 1 and Hessians between 0 and
    ``c_1 I``, as ``c_1 ||f||^2 / 2`` is near f = 0. Replaced by ``nearly 0``, the noise behind the
    output f = 0 stays where it is, and the ratio of the determinants is ``(1 + a)^d`` with ``a =
    c_1 / (2 eta V)`` (C = B and rho -> 0). Its logarithm is at least ``d (a - a^2/2)``; (26)
    allows ``(1.4 c_1 + alpha) / (eta V)``, whatever d is.
    """
    eta, rate, dimension = _HALF, Fraction(3), 104
    # The share of the docstring at C = B and rho -> 0.
    a = _C1 / (2 * eta)
    left = dimension * (a - a**2 / 2)
    words = "d = 104, c_1 = 1/4, eta V = 1/2, alpha = 3, C = B: loss of the output 0, from below"
    return Finding(
        left=left, relation="<=", right=compute_equation26_summand(eta, rate), instance=words
    )


def margin_form() -> tuple[Finding, ...]:
    """Prove that it does for any loss of a margin ``u'f`` with ``|L'| <= 1``, ``0 < L'' <= c_1``.

    The proof of Theorem 4.1 uses labels only in ``u = y x``. A regression loss ``l(y - x'f)`` has
    the same form. Checked is that both directions of the determinant are allowed for in (26):
    ``2 a <= 1.4 C c_1 / (eta V B)``, a the share of `many_directions`.
    """
    a = _C1 / (2 * _HALF)
    return (Finding(left=2 * a, relation="<=", right=_LOG * _C1 / _HALF, instance="d = 2"),)


def resting_model(steps: tuple[Fraction, Fraction]) -> Fraction:
    """Return where two nodes with these dual steps end, of ``O_1 = f^2/2``, ``O_2 = f^2/2 - f``.

    From duals of 0, (11) keeps ``lambda_1/theta_1 + lambda_2/theta_2 = 0``. Where nothing moves the
    models are one f, and (12) says ``f + 2 lambda_1 = 0`` and ``f - 1 + 2 lambda_2 = 0``.

    Examples
    --------
    >>> resting_model((Fraction(1, 2), Fraction(1, 2)))
    Fraction(1, 2)
    """
    return 1 / steps[1] / (1 / steps[0] + 1 / steps[1])


def after_steps(
    models: tuple[Fraction, Fraction],
    doubled_duals: tuple[Fraction, Fraction],
    steps: tuple[Fraction, Fraction],
) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    """Return models and ``2 lambda`` after (10) and (11), with the penalties 1 and these steps."""
    common = sum(models)
    # With curvatures and penalties of 1 the denominator m + 2 eta is 3.
    (one, two) = (
        (slope - dual + common) / 3 for slope, dual in zip((0, 1), doubled_duals, strict=True)
    )
    moved = (doubled_duals[0] + steps[0] * (one - two), doubled_duals[1] + steps[1] * (two - one))
    return (one, two), moved


def own_dual_steps() -> tuple[Finding, ...]:
    """Refute that theta may differ between nodes: they agree on another point than (1)'s optimum.

    Two nodes, ``O_1 = f^2/2`` and ``O_2 = f^2/2 - f``, whose sum is least at 1/2; penalties 1, at
    least theta_i. Findings: at `resting_model` nothing moves, from 0 the iterations come near to it
    (40 of them, to a thousandth), and it is not 1/2.
    """
    steps = (_HALF, Fraction(1, 4))
    rest = resting_model(steps)
    still = (rest, rest), (-rest, 1 - rest)
    (one, two), duals = after_steps(*still, steps)
    run: tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]
    run = (_ZERO, _ZERO), (_ZERO, _ZERO)
    for _ in range(40):
        run = after_steps(*run, steps)
    far = max(abs(model - rest) for model in run[0])
    words = "theta = (1/2, 1/4), eta = (1, 1)"
    return (
        Finding(left=max(steps), relation="<=", right=_ONE, instance=f"theta and eta, {words}"),
        Finding(left=one, relation="=", right=rest, instance="f_1 at rest"),
        Finding(left=two, relation="=", right=rest, instance="f_2 at rest"),
        Finding(left=duals[0], relation="=", right=-rest, instance="2 lambda_1 at rest"),
        Finding(left=far, relation="<=", right=Fraction(1, 1000), instance="40 iterations from 0"),
        Finding(left=rest, relation="=", right=_HALF, instance=f"the model at rest, {words}"),
    )


def records_of_adult() -> tuple[Finding, ...]:
    """Compare the records and features of Adult after preprocessing with those of the paper."""
    return (
        Finding(left=COMPLETE_RECORDS, relation="=", right=45_223, instance="complete records"),
        Finding(left=len(ADULT_FEATURES), relation="=", right=105, instance="features"),
    )


def people_of_adult() -> tuple[Finding, ...]:
    """Count the people in both files of Adult."""
    words = "adult.data and adult.test"
    return (Finding(left=sum(FILE_RECORDS), relation="=", right=48_842, instance=words),)


def uneven_records() -> tuple[Finding, ...]:
    r"""Prove that records spread unevenly have a larger P(t), where nodes have as many neighbours.

    P(t) is the largest of ``s_i / (V_i B_i)``, s the same at all nodes. With one degree V it is
    ``s / (V min_i B_i)``, and the least B_i is below the mean unless all are the same. With degrees
    of their own it need not be: in a star the centre can spare records for the leaves. Checked are
    ``1/b - 1/B = (B - b) / (b B)`` for a size b below the mean B, and four nodes with 40 records,
    each with two neighbours.
    """
    least, mean = make_unknowns("b B")
    # Both spread 40 records; the mean of the uneven sizes is 10, too.
    even, uneven = (10, 10, 10, 10), (7, 11, 11, 11)
    bounds = [_compute_largest_share(sizes, (2, 2, 2, 2)) for sizes in (even, uneven)]
    return (
        Finding(left=bounds[0], relation="<", right=bounds[1], instance="a ring of four"),
        make_identity_finding(
            1 / least - 1 / mean, (mean - least) / (least * mean), "a size and the mean"
        ),
    )


def uneven_star() -> Finding:
    """Show a star in which the uneven spread has the smaller bound."""
    degrees = (3, 1, 1, 1)
    even, uneven = (
        _compute_largest_share(sizes, degrees) for sizes in ((10,) * 4, (7, 11, 11, 11))
    )
    words = "a star of four nodes, 40 records: even, and 7 at the centre"
    return Finding(left=even, relation="<=", right=uneven, instance=words)


def _compute_largest_share(sizes: tuple[int, ...], degrees: tuple[int, ...]) -> Fraction:
    return max(Fraction(1, size * degree) for size, degree in zip(sizes, degrees, strict=True))
