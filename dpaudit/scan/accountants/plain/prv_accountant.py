"""prv-accountant (Microsoft): privacy random variables, with a lower and an upper bound."""

import prv_accountant

EPS_ERROR = 0.1  # its documentation: "Typically around 0.1"


def variable(part):
    """Return a part as a privacy random variable, or None."""
    kind = part["kind"]
    if kind == "gaussian":
        return prv_accountant.GaussianMechanism(part["noise"])
    if kind == "laplace":
        return prv_accountant.LaplaceMechanism(1 / part["noise"])
    if kind in ("pure", "response"):
        return prv_accountant.PureDPMechanism(part["epsilon"])
    if kind == "approximate":
        return prv_accountant.ApproximateDPMechanism(part["epsilon"], part["delta"])
    if kind == "sampled":
        return prv_accountant.PoissonSubsampledGaussianMechanism(
            sampling_probability=part["ratio"], noise_multiplier=part["noise"]
        )
    return None


def bounds(question):
    """Return lower bound, estimate and upper bound."""
    variables = [variable(part) for part in question["release"]]
    if question["asks"] not in ("epsilon", "delta") or None in variables:
        return None
    counts = [part["count"] for part in question["release"]]
    delta = question["at"] if question["asks"] == "epsilon" else 1e-5
    accountant = prv_accountant.PRVAccountant(
        prvs=variables,
        max_self_compositions=counts,
        eps_error=EPS_ERROR,
        delta_error=delta / 1000,  # as its documentation advises
    )
    if question["asks"] == "epsilon":
        return accountant.compute_epsilon(delta, counts)
    return accountant.compute_delta(question["at"], counts)


METHODS = {"PRVAccountant": bounds}
