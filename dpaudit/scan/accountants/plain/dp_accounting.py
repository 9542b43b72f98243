"""dp-accounting (Google): accountants of privacy-loss distributions and of Renyi divergences."""

import math

import dp_accounting
from dp_accounting import dp_event, gaussian_mechanism
from dp_accounting.pld import accountant, common, privacy_loss_distribution
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp import RdpAccountant

RELATIONS = dp_accounting.NeighboringRelation


def event_of(part):
    """Return a part as one of the library's events, or None."""
    kind, noise = part["kind"], part.get("noise")
    if kind == "gaussian":
        return dp_event.GaussianDpEvent(noise)
    if kind == "laplace":
        return dp_event.LaplaceDpEvent(noise)
    if kind == "discrete-laplace":
        return dp_event.DiscreteLaplaceDpEvent(1 / noise, 1)
    if kind == "response":  # of two answers, a random one with probability 2 / (1 + e^epsilon)
        return dp_event.RandomizedResponseDpEvent(2 * truth(-part["epsilon"]), 2)
    if kind == "concentrated":
        return dp_event.ZCDpEvent(part["rho"])
    if kind == "sampled":
        return dp_event.PoissonSampledDpEvent(part["ratio"], dp_event.GaussianDpEvent(noise))
    return None


def truth(log_odds):
    """Return the probability with these log-odds."""
    return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0


def asked(composed, question):
    """Return an accountant's answer to a question."""
    events = [event_of(part) for part in question["release"]]
    if question["asks"] not in ("epsilon", "delta") or None in events:
        return None
    for part, event in zip(question["release"], events, strict=True):
        if not composed.supports(event):
            return None
        composed.compose(event, part["count"])
    if question["asks"] == "epsilon":
        return composed.get_epsilon(question["at"])
    return composed.get_delta(question["at"])


def relation_of(question, relation):
    """Return the relation; the library knows randomised response under replacement alone."""
    kinds = {part["kind"] for part in question["release"]}
    return RELATIONS.REPLACE_ONE if kinds == {"response"} else relation


def pld(question):
    """Return the answer of the accountant of privacy-loss distributions."""
    relation = relation_of(question, RELATIONS.ADD_OR_REMOVE_ONE)
    return asked(PLDAccountant(relation), question)


def pld_replace(question):
    """Return its answer where a record is replaced."""
    return asked(PLDAccountant(RELATIONS.REPLACE_ONE), question)


def rdp(question):
    """Return the answer of the accountant of Renyi divergences."""
    relation = relation_of(question, RELATIONS.ADD_OR_REMOVE_ONE)
    if question["asks"] == "renyi":
        return renyi(RdpAccountant([question["at"]], relation), question)
    return asked(RdpAccountant(neighboring_relation=relation), question)


def rdp_replace(question):
    """Return its answer where a record is replaced."""
    if question["asks"] == "renyi":
        return None
    return asked(RdpAccountant(neighboring_relation=RELATIONS.REPLACE_ONE), question)


def renyi(composed, question):
    """Return the Renyi divergence at the accountant's only order."""
    for part in question["release"]:
        event = event_of(part)
        if event is None or not composed.supports(event):
            return None
        composed.compose(event, part["count"])
    return composed.rdp[0]


def distribution(question, pessimistic):
    """Return an end of the bracket from privacy-loss distributions rounded to one side."""
    if question["asks"] not in ("epsilon", "delta"):
        return None
    composed = privacy_loss_distribution.identity(pessimistic_estimate=pessimistic)
    for part in question["release"]:
        one = single(part, pessimistic)
        if one is None:
            return None
        if part["count"]:
            composed = composed.compose(one.self_compose(part["count"]))
    if question["asks"] == "epsilon":
        return composed.get_epsilon_for_delta(question["at"])
    return composed.get_delta_for_epsilon(question["at"])


def single(part, pessimistic):
    """Return the distribution of one release, or None."""
    kind, options = (
        part["kind"],
        # Connect-the-dots gives upper estimates alone.
        {"pessimistic_estimate": pessimistic, "use_connect_dots": pessimistic},
    )
    library = privacy_loss_distribution
    if kind == "gaussian":
        return library.from_gaussian_mechanism(part["noise"], **options)
    if kind == "laplace":
        return library.from_laplace_mechanism(part["noise"], **options)
    if kind == "discrete-laplace":
        return library.from_discrete_laplace_mechanism(1 / part["noise"], **options)
    if kind == "discrete-gaussian":
        return library.from_discrete_gaussian_mechanism(part["noise"], **options)
    if kind == "sampled":
        return library.from_gaussian_mechanism(
            part["noise"], sampling_prob=part["ratio"], **options
        )
    if kind in ("pure", "approximate") and pessimistic:
        spent = common.DifferentialPrivacyParameters(part["epsilon"], part.get("delta", 0.0))
        return library.from_privacy_parameters(spent)
    return None


def pessimistic(question):
    """Return the pessimistic end."""
    return distribution(question, True)


def optimistic(question):
    """Return the optimistic end."""
    return distribution(question, False)


def gaussian(question):
    """Return the analytic Gaussian mechanism's epsilon, delta or noise."""
    (part, *more) = question["release"]
    if part["kind"] != "gaussian" or part["count"] != 1 or more:
        return None
    if question["asks"] == "epsilon":
        return gaussian_mechanism.get_epsilon_gaussian(part["noise"], question["at"])
    if question["asks"] == "noise":
        return gaussian_mechanism.get_sigma_gaussian(question["epsilon"], question["at"])
    return None


def advanced(question):
    """Return the epsilon of the optimal composition theorem."""
    (part, *more) = question["release"]
    if part["kind"] not in ("pure", "approximate") or question["asks"] != "epsilon" or more:
        return None
    spent = common.DifferentialPrivacyParameters(part["epsilon"], part.get("delta", 0.0))
    total = accountant.advanced_composition(spent, part["count"], question["at"])
    # The library returns None where no epsilon reaches the delta.
    return math.inf if total is None else total


def smallest_noise(question):
    """Return the least noise for a guarantee."""
    (part, *more) = question["release"]
    if question["asks"] != "noise" or more:
        return None
    wanted = common.DifferentialPrivacyParameters(question["epsilon"], question["at"])
    if part["kind"] == "gaussian":
        return accountant.get_smallest_gaussian_noise(wanted, part["count"])
    if part["kind"] == "laplace":
        return accountant.get_smallest_laplace_noise(wanted, part["count"])
    if part["kind"] == "sampled":
        return accountant.get_smallest_subsampled_gaussian_noise(
            wanted, part["count"], sampling_prob=part["ratio"]
        )
    return None


METHODS = {
    "PLDAccountant": pld,
    "PLDAccountant, replace one": pld_replace,
    "RdpAccountant": rdp,
    "RdpAccountant, replace one": rdp_replace,
    "pessimistic distribution": pessimistic,
    "optimistic distribution": optimistic,
    "get_epsilon_gaussian": gaussian,
    "advanced_composition": advanced,
    "get_smallest_noise": smallest_noise,
}
