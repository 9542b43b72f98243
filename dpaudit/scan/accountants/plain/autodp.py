"""autodp: mechanisms composed by Renyi divergences and by characteristic functions."""

import math

from autodp import mechanism_zoo, transformer_zoo


def truth(epsilon):
    """Return the probability of the truth."""
    return 1 / (1 + math.exp(-epsilon))


def mechanism(part):
    """Return a part as one of the mechanisms described by their Renyi divergences, or None."""
    kind = part["kind"]
    if kind == "gaussian":
        return mechanism_zoo.GaussianMechanism(part["noise"])
    if kind == "laplace":
        return mechanism_zoo.LaplaceMechanism(part["noise"])
    if kind == "discrete-gaussian":
        return mechanism_zoo.DiscreteGaussianMechanism(part["noise"])
    if kind == "response":
        return mechanism_zoo.RandresponseMechanism(truth(part["epsilon"]))
    if kind == "pure":
        return mechanism_zoo.PureDP_Mechanism(part["epsilon"])
    if kind == "concentrated":
        return mechanism_zoo.zCDP_Mechanism(part["rho"])
    if kind == "sampled":
        sampling = transformer_zoo.AmplificationBySampling(PoissonSampling=True)
        whole = mechanism_zoo.GaussianMechanism(part["noise"])
        return sampling(whole, part["ratio"], improved_bound_flag=True)
    return None


def asked(composed, question):
    """Return a composed mechanism's answer to a question."""
    if question["asks"] == "epsilon":
        return composed.get_approxDP(question["at"])
    if question["asks"] == "delta":
        return composed.get_approx_delta(question["at"])
    return composed.get_RDP(question["at"]) if question["asks"] == "renyi" else None


def renyi(question):
    """Return the answer of the composition of Renyi divergences."""
    mechanisms = [mechanism(part) for part in question["release"]]
    if question["asks"] not in ("epsilon", "renyi") or None in mechanisms:
        return None
    counts = [part["count"] for part in question["release"]]
    return asked(transformer_zoo.Composition()(mechanisms, counts), question)


def single(question):
    """Return the answer of one mechanism that is not composed."""
    (part, *more) = question["release"]
    if more or part["count"] != 1 or question["asks"] not in ("epsilon", "renyi"):
        return None
    one = mechanism(part)
    return None if one is None else asked(one, question)


def gaussian(question):
    """Return the answer of the composition of Gaussian mechanisms."""
    if {part["kind"] for part in question["release"]} != {"gaussian"}:
        return None
    mechanisms = [mechanism_zoo.ExactGaussianMechanism(p["noise"]) for p in question["release"]]
    counts = [part["count"] for part in question["release"]]
    if question["asks"] not in ("epsilon", "renyi"):
        return None
    return asked(transformer_zoo.ComposeGaussian()(mechanisms, counts), question)


def fourier_mechanism(part, neighbouring):
    """Return a part as one of the mechanisms described by characteristic functions, or None."""
    kind = part["kind"]
    if kind == "gaussian":
        return mechanism_zoo.GaussianMechanism(part["noise"], phi_off=False)
    if kind == "laplace":
        return mechanism_zoo.LaplaceMechanism(part["noise"], phi_off=False)
    if kind == "response":
        return mechanism_zoo.RandresponseMechanism(truth(part["epsilon"]), phi_off=False)
    if kind == "sampled":
        parameters = {"prob": part["ratio"], "sigma": part["noise"], "coeff": 1}
        return mechanism_zoo.SubsampleGaussianMechanism(
            parameters, phi_off=False, neighboring=neighbouring
        )
    return None


def fourier(question):
    """Return the answer of the composition of characteristic functions, the larger direction's."""
    if question["asks"] not in ("epsilon", "delta"):
        return None
    sampled = any(part["kind"] == "sampled" for part in question["release"])
    answers = []
    # The library computes one direction at a time; the guarantee is that of the worse one.
    for way in ("remove_only", "add_only") if sampled else ("remove_only",):
        mechanisms = [fourier_mechanism(part, way) for part in question["release"]]
        if None in mechanisms:
            return None
        counts = [part["count"] for part in question["release"]]
        answers.append(asked(transformer_zoo.ComposeAFA()(mechanisms, counts), question))
    return max(answers)


METHODS = {
    "Composition": renyi,
    "one mechanism": single,
    "ComposeGaussian": gaussian,
    "ComposeAFA": fourier,
}
