"""dpaudit's own accounting: the bracket that `dpaudit account` proves."""

from dpaudit.accounting.events import (
    ApproximateRelease,
    GaussianRelease,
    LaplaceRelease,
    PoissonSubsampledGaussian,
)
from dpaudit.accounting.strongest_guarantee import bound_proved_epsilon


def event_of(part):
    """Return a part as an event."""
    count = part["count"]
    match part["kind"]:
        case "gaussian":
            return GaussianRelease(sensitivity=1.0, noise_scale=part["noise"], count=count)
        case "laplace":
            return LaplaceRelease(sensitivity=1.0, noise_scale=part["noise"], count=count)
        case "response":
            return ApproximateRelease(epsilon=part["epsilon"], count=count)
    return PoissonSubsampledGaussian(
        sampling_ratio=part["ratio"], noise_multiplier=part["noise"], count=count
    )


def bracket(question):
    """Return the two ends of epsilon, and the middle as an estimate."""
    (part,) = question["release"]
    found = bound_proved_epsilon(event_of(part), question["at"])
    return found.lower, (found.lower + found.upper) / 2, found.upper


METHODS = {"proved bracket": bracket}
