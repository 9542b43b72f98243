"""Sections 1 to 3 of hu2019: the problem, the algorithm, and the statements on its messages."""

from __future__ import annotations

from fractions import Fraction

from dpaudit.algorithms.sharing.statements.hu2019.checks.exact_runs import (
    ExactProblem,
    compute_fraction_inner,
    make_fraction_numbers,
    update_exact_prediction,
)
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import make_unknowns, total, vectors


def column_from_a_message() -> Finding:
    r"""Return how far the square of a feature is from its value by the party's first message.

    A party with one column D and the regulariser ``x^2 / 2`` sends ``D x = -H v`` for the vector
    ``v = y + rho (sum_{k != m} D_k x_k - z)``, which the central node knows, and

        H = D D' / (lambda + rho |D|^2).

    For one sample H is a number, and ``D^2 = lambda H / (1 - rho H)``: the feature is known up to
    its sign. For N samples and d columns, N messages with independent v tell the matrix H, and with
    it D D', that is D up to a rotation of its columns.
    """
    feature, penalty, ridge, known = make_fraction_numbers("7/5", 3, "1/2", "2/3")
    model = -feature * known / (ridge + penalty * feature**2)
    response = -(feature * model) / known
    told = ridge * response / (1 - penalty * response)
    return Finding(
        left=Fraction(0),
        relation="<",
        right=abs(told - feature**2),
        instance="error of D^2 as read off one message: N = 1, D = 7/5, rho = 3, lambda = 1/2",
    )


def messages_tell_features() -> Finding:
    r"""Prove that messages may reveal data: one of them tells the square of a feature exactly.

    Proof. `column_from_a_message` computes it for a party of one column and one sample: the message
    is ``-H v`` with a v that the central node knows, ``H = D^2 / (lambda + rho D^2)``, so that
    ``D^2 = lambda H / (1 - rho H)``.
    """
    error = column_from_a_message().right
    return Finding(left=error, relation="=", right=Fraction(0), instance="error of D^2 so read")


def labels_of_all_samples() -> Finding:
    """Return how many numbers N labels of N entries have, as printed, and how many there are."""
    samples = 3
    return Finding(
        left=Fraction(samples * samples),
        relation="=",
        right=Fraction(samples),
        instance="numbers in Y_1 to Y_N, N = 3",
    )


def free_sample() -> Finding:
    """Return the right side of the loss's form at two samples, which the left side does not have.

    ``l(sum_m D_m^i x_m)`` is another number for every i, here of the squared loss with label 0.
    """
    rows, model = (
        (make_fraction_numbers(1, 0), make_fraction_numbers(1, 1)),
        make_fraction_numbers(1, 2),
    )
    one, other = (compute_fraction_inner(row, model) ** 2 / 2 for row in rows)
    return Finding(
        left=one, relation="=", right=other, instance="l(D^i x) at i = 1 and at i = 2, x = (1, 2)"
    )


def same_margins() -> Finding:
    r"""Prove that the models that are named have the form ``l(sum_m D_m x_m)``.

    Proof. The hinge loss of a support vector machine, the squared loss of Lasso, the logistic loss,
    and the exponential loss of boosting over given weak learners (whose outputs are the columns)
    depend on data and model through the predictions ``D^i x`` alone, and those are the entries of
    ``sum_m D_m x_m``. The penalties, ``||x||^2`` and ``||x||_1``, are sums over parties. Checked:
    the predictions are that sum, however the columns are split.
    """
    row, model = make_unknowns("d_1 d_2 d_3"), make_unknowns("x_1 x_2 x_3")
    whole = sum((d * x for d, x in zip(row, model, strict=True)), 0 * row[0])
    split = row[0] * model[0] + (row[1] * model[1] + row[2] * model[2])
    return make_identity_finding(whole, split, "a prediction, of all columns and of two parties")


def compact_form() -> tuple[Finding, Finding]:
    """Return the minimisers of the risk and of (1), and of (1) with l divided by N.

    One column of N = 2 ones, labels 1, the squared loss and ``lambda ||x||^2 / 2`` with lambda = 1:
    the slopes are ``(x - 1) + lambda x`` and ``2 (x - 1) + lambda x``.
    """
    ridge, samples = Fraction(1), 2
    risk, printed = 1 / (1 + ridge), samples / (samples + ridge)
    repaired = (samples / Fraction(samples)) / (samples / Fraction(samples) + ridge)
    instance = "minimiser of the risk, and of (1): N = 2, lambda = 1"
    return (
        Finding(left=risk, relation="=", right=printed, instance=instance),
        Finding(left=risk, relation="=", right=repaired, instance=f"{instance}, l divided by N"),
    )


def split_problem() -> Finding:
    r"""Prove that (1), (2) and (3), (4) are one problem.

    Proof. (4) leaves one z for every x, ``z = sum_m D_m x_m``, and with it the objective (3) is
    that of (1); the constraints on x are the same. So feasible x, their values and the minimisers
    agree. Checked for the squared loss, of which the values are polynomials in x.
    """
    one, two, label = vectors("u_1 u_2 b")
    ridges = make_unknowns("R")[0]
    z = one + two
    first = ((one + two) - label).square / 2 + ridges
    second = (z - label).square / 2 + ridges
    return make_identity_finding(first, second, "(1), and (3) with z put in")


def check_subtracted_part() -> Finding:
    r"""Prove lines 3 and 4 of Algorithm 1: a party needs a difference of two numbers that it has.

    Proof. ``(sum_k D_k x_k - z) - D_m x_m = sum_{k != m} D_k x_k - z``. At t = 1 the pulled value
    is that of the start, which the central node knows.
    """
    one, two, three, z = vectors("u_1 u_2 u_3 z")
    left = (total((one, two, three)) - z - two).square
    return make_identity_finding(left, (one + three - z).square, "the difference, M = 3, m = 2")


def numbers_on_the_way() -> Finding:
    r"""Prove that the trick of lines 3, 4 and 12 sends less, where there are several parties.

    Proof. It sends a party ``sum_k D_k x_k - z`` and y, 2 N numbers. Without the sum it would send
    ``D_k x_k`` of the M - 1 others, z and y: ``(M + 1) N`` numbers. Saved are ``(M - 1) N``.
    """
    parties, samples = make_unknowns("M N")
    saved = (parties + 1) * samples - 2 * samples
    return make_identity_finding(
        saved, (parties - 1) * samples, "numbers that are not sent to a party"
    )


def values_in_a_message() -> Finding:
    """Return how many numbers a party shares in an iteration, and the one that is said."""
    column = make_fraction_numbers(1, 2, 3)
    return Finding(
        left=Fraction(len(column)),
        relation="=",
        right=Fraction(1),
        instance="entries of D_m x_m, N = 3",
    )


def norm_is_no_quadratic() -> tuple[Finding, Finding]:
    """Return second differences of ``|x|`` and of ``x^2``, which are equal for a quadratic."""

    def bend(values: tuple[int, int, int]) -> Fraction:
        left, middle, right = values
        return Fraction(left - 2 * middle + right)

    return (
        Finding(
            left=bend((1, 0, 1)),
            relation="=",
            right=bend((1, 2, 3)),
            instance="second differences of |x| at 0 and at 2",
        ),
        Finding(
            left=bend((1, 0, 1)),
            relation="=",
            right=bend((1, 4, 9)),
            instance="second differences of x^2 at 0 and at 2",
        ),
    )


def prediction_by_samples() -> tuple[Finding, ...]:
    r"""Prove that (7) is N problems in one variable each, with no number of features in them.

    Proof. With ``s = sum_m D_m x_m``, a vector of N numbers, the objective of (7) for a loss that
    is a sum over samples is ``sum_i [l_i(z_i) - y_i z_i + rho/2 (s_i - z_i)^2]``: a sum of
    functions of one z_i each, given N, y and s. Features enter through s alone. Checked on the
    squared loss: parties of other designs with the same sum are answered by the same z.
    """
    labels, dual, sent = (
        make_fraction_numbers(1, -1),
        make_fraction_numbers("1/2", "1/3"),
        make_fraction_numbers(3, 4),
    )
    answers = []
    for columns in (
        (make_fraction_numbers(1, 2),),
        (make_fraction_numbers(1, 0), make_fraction_numbers(0, 1), make_fraction_numbers(1, 1)),
    ):
        problem = ExactProblem(
            columns=columns,
            labels=labels,
            curvatures=make_fraction_numbers(1, 1),
            penalty=Fraction(3),
        )
        answers.append(update_exact_prediction(problem, sent, dual))
    alone = tuple((y + 3 * s + b) / 4 for y, s, b in zip(dual, sent, labels, strict=True))
    places = enumerate(zip(*answers, alone, strict=True), start=1)
    return tuple(
        Finding(left=one, relation="=", right=other, instance=f"z_{i}, of 1 party and of {who}")
        for i, (one, three, own) in places
        for other, who in ((three, "3 parties"), (own, "its own problem"))
    )


def parts_of_the_data() -> tuple[Finding, ...]:
    """Prove the sizes: 66 + 57 features are the 123 of a9a, 2000 + 2000 + 1000 the 5000 of gisette.

    Proof. By adding.
    """
    return (
        Finding(left=66 + 57, relation="=", right=123, instance="features of a9a"),
        Finding(left=2000 + 2000 + 1000, relation="=", right=5000, instance="features of gisette"),
    )
