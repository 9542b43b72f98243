"""Opacus (Meta): accountants of DP-SGD, which step through Poisson-sampled Gaussian releases."""

from opacus.accountants import GaussianAccountant, PRVAccountant, RDPAccountant
from opacus.accountants.analysis.rdp import compute_rdp
from opacus.accountants.utils import get_noise_multiplier


def history(question):
    """Return the steps as an accountant keeps them, or None."""
    steps = []
    for part in question["release"]:
        if part["kind"] not in ("gaussian", "sampled"):
            return None
        steps.append((part["noise"], part.get("ratio", 1.0), part["count"]))
    return steps


def asked(accountant, question):
    """Return the epsilon of an accountant that has stepped through a release."""
    steps = history(question)
    if question["asks"] != "epsilon" or steps is None:
        return None
    accountant.history = steps  # as its own get_noise_multiplier sets it
    return accountant.get_epsilon(delta=question["at"])


def rdp(question):
    """Return the answer of the accountant of Renyi divergences."""
    if question["asks"] != "renyi":
        return asked(RDPAccountant(), question)
    steps = history(question)
    if steps is None:
        return None
    return sum(
        compute_rdp(q=ratio, noise_multiplier=noise, steps=count, orders=[question["at"]])[0]
        for noise, ratio, count in steps
    )


def prv(question):
    """Return the answer of the accountant of privacy random variables: its upper bound."""
    return asked(PRVAccountant(), question)


def gaussian(question):
    """Return the answer of the accountant by the central limit theorem."""
    return asked(GaussianAccountant(), question) if len(question["release"]) == 1 else None


def noise(question):
    """Return the noise for a guarantee."""
    steps = history(question)
    if question["asks"] != "noise" or steps is None:
        return None
    ((_, ratio, count),) = steps
    return get_noise_multiplier(
        target_epsilon=question["epsilon"],
        target_delta=question["at"],
        sample_rate=ratio,
        steps=count,
    )


METHODS = {
    "RDPAccountant": rdp,
    "PRVAccountant": prv,
    "GaussianAccountant": gaussian,
    "get_noise_multiplier": noise,
}
