"""jax-privacy (Google DeepMind): accountants of DP-SGD with Poisson batches."""

from jax_privacy import auditing as of_scores
from jax_privacy.accounting import accountants, analysis, calibrate
from null_audits import errors

EXAMPLES = 10**9  # the sampling probability is batch_size / num_samples


def parameters_of(part, delta):
    """Return a part as the parameters of a training run, or None."""
    if part["kind"] not in ("gaussian", "sampled"):
        return None
    return analysis.DpParams(
        noise_multipliers=part["noise"],
        num_samples=EXAMPLES,
        delta=delta,
        batch_size=round(part.get("ratio", 1.0) * EXAMPLES),
    )


def asked(configuration, question):
    """Return the epsilon of a training run."""
    (part, *more) = question["release"]
    run = parameters_of(part, question["at"])
    accountant = analysis.DpsgdTrainingAccountant(configuration)
    if run is None or more:
        return None
    if question["asks"] == "epsilon":
        return accountant.compute_epsilon(part["count"], run)
    if question["asks"] == "noise":
        return calibrate.calibrate_noise_multiplier(
            target_epsilon=question["epsilon"],
            accountant=accountant,
            batch_sizes=run.batch_size,
            num_updates=part["count"],
            num_samples=EXAMPLES,
            target_delta=question["at"],
        )
    return None


def rdp(question):
    """Return the answer by Renyi divergences."""
    return asked(accountants.RdpAccountantConfig(), question)


def pld(question):
    """Return the answer by privacy-loss distributions."""
    return asked(accountants.PldAccountantConfig(), question)


def by(method):
    """Return how often an auditor's bound is in error."""

    def bounded(question):
        def bound(there, others):
            audit = getattr(of_scores.CanaryScoreAuditor(there, others), method)
            return audit(1 - question["at"], 1e-5)

        return errors(question, bound)

    return bounded


METHODS = {
    "RdpAccountantConfig": rdp,
    "PldAccountantConfig": pld,
    "CanaryScoreAuditor.epsilon_from_gdp": by("epsilon_from_gdp"),
    "CanaryScoreAuditor.epsilon_clopper_pearson": by("epsilon_clopper_pearson"),
}
