r"""Cross-entropy of scores, and the server's z-update: one small convex problem for every row.

| paper   | code        | meaning                                       | shape         |
|---------|-------------|-----------------------------------------------|---------------|
| z_j     | ``scores``  | scores of row j                               | (..., N, d_c) |
| d_c     | ``outputs`` | scores a row has: 1 for margins, else classes | integer       |
| y_j     | ``targets`` | what the loss is linear in                    | (..., N, d_c) |
| l(z; y) | ``value``   | ``A(z) - y'z``                                | (..., N)      |

``A`` is ``log sum_k exp(z_k)``; with one score, the margin of a binary problem, ``log(1 + exp z)``.
On one-hot ``y`` this is softmax cross-entropy, and at ``y = (1 + b) / 2`` it is the logistic loss
``log(1 + exp(-b z))`` of the label b in {-1, +1}.

The paper does not say what the loss of a noisy label is. Here it stays ``A(z) - y'z``: convex for
every real y, and its mean over the noise of Theorem 1 is the loss of the label itself. The other
reading, ``-sum_k y_k log softmax(z)_k``, is not convex once the entries of y sum to less than 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp, softmax, wrightomega

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import ConvergenceError, InvalidArgument
from dpaudit.mechanisms.residuals import report_residuals
from dpaudit.redaction import Record

# Of the z-update: largest |gradient|, relative to 1 + the largest |linear term| of the row.
TOLERANCE = 1e-10
_MOST_STEPS = 100


@dataclass(frozen=True)
class CrossEntropy:
    """Cross-entropy of ``classes`` classes; labels are 0, 1, ..., or -1 and +1 with ``margin``.

    Parameters
    ----------
    classes
        How many.
    margin
        Give two classes one score between them instead of one each: the logistic loss.

    Examples
    --------
    >>> LOGISTIC.outputs, CrossEntropy(3).outputs
    (1, 3)
    >>> CrossEntropy(3).encode(np.array([2.0, 0.0]))
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """

    classes: int
    margin: bool = False

    def __post_init__(self) -> None:
        check.require_integer("classes", self.classes, least=2)
        if self.margin and self.classes != 2:
            raise InvalidArgument("classes", self.classes, "2 classes where scores are margins")

    @property
    def outputs(self) -> int:
        """``d_c``: how many scores a row has."""
        return 1 if self.margin else self.classes

    def encode(self, labels: Array) -> Array:
        """Return labels as vectors, shape ``(n, d_c)``: one-hot, or the sign itself.

        Two different labels are 2 apart in L1 norm either way, as Theorem 1 needs.
        """
        known = np.array([-1.0, 1.0]) if self.margin else np.arange(float(self.classes))
        # isin also refuses NaN, which equals no label.
        odd = ~np.isin(labels, known)
        if odd.any():
            row = int(np.argmax(odd))
            expected = "-1 or +1" if self.margin else f"a class from 0 to {self.classes - 1}"
            raise InvalidArgument(f"labels[{row}]", Record(float(labels[row])), expected)
        return labels[:, None].copy() if self.margin else np.eye(self.classes)[labels.astype(int)]

    def targets(self, encoded: Array) -> Array:
        """Return ``y`` of encoded labels, noisy or not, same shape."""
        return (1 + encoded) / 2 if self.margin else encoded

    def value(self, scores: Array, targets: Array) -> Array:
        """Return ``A(z) - y'z`` of every row, shape ``(..., N)``."""
        partition = np.logaddexp(0, scores[..., 0]) if self.margin else logsumexp(scores, axis=-1)
        return np.asarray(partition - np.sum(targets * scores, axis=-1))

    def probabilities(self, scores: Array) -> Array:
        """Return the gradient of ``A``, same shape."""
        return np.asarray(expit(scores) if self.margin else softmax(scores, axis=-1))

    def minimise(self, linear: Array, penalty: float) -> Array:
        r"""Return ``argmin_z A(z) - c'z + rho/2 ||z||^2`` of every row: the z-update (eq. 32).

        With ``p = grad A(z)`` and ``L = A(z)``, stationarity reads ``rho z_k = c_k - p_k`` and
        ``p_k = exp(z_k - L)``, so that ``p_k = rho omega(c_k/rho - L - log rho)`` where omega is
        Wright's function, ``omega + log omega = id``. What is left is one unknown a row, L, from
        ``sum_k p_k = 1``. The sum is convex and falls in L, so Newton from its left converges.

        Parameters
        ----------
        linear
            ``c``, shape ``(R, N, d_c)``; for eq. (32), ``y + lambda + rho sum_i h_i``.
        penalty
            ``rho``.

        Raises
        ------
        ConvergenceError
            A row's gradient is above `TOLERANCE` times ``1 + max |c|``.
        """
        # Refused here by their cause: below, infinite scores become NaN and fail as a residual.
        if not np.isfinite(linear).all():
            raise ConvergenceError("z-update: got infinite scores, expected iterates that converge")
        scaled = linear / penalty - np.log(penalty)
        # Here the largest p_k alone, or for a margin the other class's exp(-L), is 1 already.
        level = (linear.max(axis=-1, keepdims=True) - 1) / penalty
        # For a margin the other class keeps a share exp(-L), so that L is above 0.
        level = np.maximum(level, 0) if self.margin else level
        for _ in range(_MOST_STEPS):
            omega = wrightomega(scaled - level)
            # For a margin the other class has the score 0 and so the probability exp(-L).
            other = np.exp(-level) if self.margin else 0.0
            excess = other + penalty * omega.sum(axis=-1, keepdims=True) - 1
            slope = other + penalty * (omega / (1 + omega)).sum(axis=-1, keepdims=True)
            step = excess / slope
            level += step
            # Written with a negation, so that NaN ends the loop and meets the check of the
            # residual.
            if not np.any(np.abs(step) > 1e-13 * (1 + np.abs(level))):
                break
        scores: Array = linear / penalty - wrightomega(scaled - level)
        self._accept(scores, linear, penalty)
        return scores

    def _accept(self, scores: Array, linear: Array, penalty: float) -> None:
        gradient = self.probabilities(scores) + penalty * scores - linear
        residual = np.abs(gradient).max(axis=-1) / (1 + np.abs(linear).max(axis=-1))
        # Written with a negation, so that a NaN counts as not solved.
        if not np.all(residual <= TOLERANCE):
            worst = np.unravel_index(np.argmax(residual), residual.shape)
            raise ConvergenceError(
                f"z-update: got a residual of {residual[worst]:.2g} in trial {worst[0]}, row "
                f"{worst[-1]}, expected at most {TOLERANCE:.0g}: the penalty is too small for "
                "the scores, or the iterates diverge"
            )
        report_residuals("z-update", residual, tolerance=TOLERANCE, measure="relative gradient")


LOGISTIC = CrossEntropy(2, margin=True)
