"""tensorflow-privacy (Google): its analysis of DP-SGD, without importing TensorFlow."""

import importlib.util
import os

PACKAGE = importlib.util.find_spec("tensorflow_privacy")
ANALYSIS = os.path.join(os.path.dirname(PACKAGE.origin), "privacy", "analysis")


def loaded(name):
    """Return a module of the package's analysis; the package itself imports TensorFlow."""
    path = os.path.join(ANALYSIS, name + ".py")
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


privacy = loaded("compute_dp_sgd_privacy_lib")
limit = loaded("gdp_accountant")


def steps(question):
    """Return the only part, where it is one of DP-SGD's and epsilon is asked for, else None."""
    (part, *more) = question["release"]
    if more or question["asks"] != "epsilon" or part["kind"] not in ("gaussian", "sampled"):
        return None
    return part


def example(question, accountant):
    """Return epsilon by an accountant of the package."""
    part = steps(question)
    if part is None:
        return None
    ratio = part.get("ratio")
    return privacy._compute_dp_sgd_example_privacy(
        num_epochs=part["count"] if ratio is None else part["count"] * ratio,
        noise_multiplier=part["noise"],
        example_delta=question["at"],
        used_microbatching=False,
        poisson_subsampling_probability=ratio,
        accountant_type=accountant,
    )


def rdp(question):
    """Return the answer by Renyi divergences."""
    return example(question, privacy.AccountantType.RDP)


def pld(question):
    """Return the answer by privacy-loss distributions."""
    return example(question, privacy.AccountantType.PLD)


def clt(question):
    """Return the answer by the central limit theorem."""
    part = steps(question)
    if part is None or part["kind"] != "sampled":
        return None
    size = 1e9
    return limit.compute_eps_poisson(
        part["count"] * part["ratio"], part["noise"], size, part["ratio"] * size, question["at"]
    )


METHODS = {"RDP": rdp, "PLD": pld, "gdp_accountant": clt}
