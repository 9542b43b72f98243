"""privacy-estimates (Microsoft): lower bounds of epsilon from the counts of an attack."""

from null_audits import errors
from privacy_estimates import AttackResults, compute_eps_lo

DELTA = 1e-5


def by(method):
    """Return the method that counts guesses by the sign of a score."""

    def asked(question):
        def bound(there, others):
            hits, alarms = int((there > 0).sum()), int((others > 0).sum())
            count = AttackResults(TP=hits, FN=len(there) - hits, FP=alarms, TN=len(others) - alarms)
            return compute_eps_lo(count, delta=DELTA, alpha=1 - question["at"], method=method)

        return errors(question, bound)

    return asked


METHODS = {
    "compute_eps_lo, beta": by("beta"),
    "compute_eps_lo, jeffreys": by("jeffreys"),
}
