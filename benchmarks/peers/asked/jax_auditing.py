"""jax-privacy's lower bounds from scores of canaries that are in and out."""

from jax_privacy import auditing

STRATEGIES = {
    "split": lambda seed: auditing.Split(seed=seed),
    "Bonferroni": lambda seed: auditing.Bonferroni(),
}


def bound(name, strategy):
    """Return the bound of a method of `CanaryScoreAuditor` at the thresholds of a strategy."""

    def lower(question, drawn):
        method = getattr(auditing.CanaryScoreAuditor(*drawn(question)), name)
        chosen = STRATEGIES[strategy](question["seed"])
        return method(question["alpha"], question["delta"], threshold_strategy=chosen)

    return lower


METHODS = {
    "Clopper-Pearson, split": bound("epsilon_clopper_pearson", "split"),
    "Clopper-Pearson, Bonferroni": bound("epsilon_clopper_pearson", "Bonferroni"),
    "one run, split": bound("epsilon_one_run", "split"),
    "one run, f-DP, split": bound("epsilon_one_run_fdp", "split"),
}
