"""Mechanisms that keep the contract, every output by itself, and are not 1-DP."""

import numpy as np


class Broken:
    """Claims to be 1-DP for a sum of records in [0, 1]."""

    def sample(self, dataset, trials, rng):
        return self.outputs(dataset.sum(), trials, rng)


def broken(outputs):
    """Return a mechanism with these outputs, ``outputs(total, trials, rng)``, under its name."""
    name = "".join(word.capitalize() for word in outputs.__name__.split("_"))
    body = {"outputs": lambda self, *given: outputs(*given), "__doc__": outputs.__doc__}
    globals()[name] = type(name, (Broken,), body)
    return outputs


@broken
def no_noise(total, trials, rng):
    return np.full(trials, total)


@broken
def constant_of_the_data(total, trials, rng):
    return np.full(trials, 7.0 if total > 0 else 3.0)


@broken
def half_the_noise(total, trials, rng):
    return total + rng.laplace(scale=0.5, size=trials)


@broken
def a_fifth_of_the_noise(total, trials, rng):
    return total + rng.laplace(scale=0.2, size=trials)


@broken
def twice_the_sensitivity(total, trials, rng):
    return 2 * total + rng.laplace(size=trials)


@broken
def noise_of_one_sign(total, trials, rng):
    return total + rng.exponential(size=trials)


@broken
def bounded_noise(total, trials, rng):
    return total + rng.uniform(-1.5, 1.5, size=trials)


@broken
def clipped_noise(total, trials, rng):
    return total + np.clip(rng.laplace(size=trials), -1, 1)


@broken
def rounded_noise(total, trials, rng):
    return total + np.round(rng.laplace(scale=0.3, size=trials))


@broken
def small_gaussian_noise(total, trials, rng):
    return total + rng.normal(scale=0.5, size=trials)


@broken
def a_coin_too_honest(total, trials, rng):
    return (rng.random(trials) < (0.9 if total > 0 else 0.1)).astype(float)


@broken
def three_values(total, trials, rng):
    return rng.choice(3, trials, p=[0.1, 0.2, 0.7] if total > 0 else [0.7, 0.2, 0.1]).astype(float)


@broken
def geometric_noise_too_small(total, trials, rng):
    return total + rng.geometric(0.9, trials) - rng.geometric(0.9, trials)


@broken
def noise_only_without_the_record(total, trials, rng):
    return total + (rng.laplace(size=trials) if total == 0 else np.zeros(trials))


@broken
def noise_that_follows_the_data(total, trials, rng):
    return rng.laplace(scale=1.0 + 3 * total, size=trials)


@broken
def factors_as_noise(total, trials, rng):
    return total * (1 + rng.laplace(scale=0.1, size=trials))


@broken
def now_and_then_the_record(total, trials, rng):
    noisy = rng.laplace(size=trials)
    return np.where(rng.random(trials) < 0.05, 100 * total + 50, noisy)


@broken
def without_a_record_now_and_then_nothing(total, trials, rng):
    noisy = total + rng.laplace(size=trials)
    return noisy if total > 0 else np.where(rng.random(trials) < 0.1, -30.0, noisy)


@broken
def the_record_in_the_lowest_digits(total, trials, rng):
    return np.floor(rng.laplace(size=trials)) + total / 2**20


@broken
def a_grid_that_the_record_moves(total, trials, rng):
    return np.round(rng.laplace(size=trials)) + total / 4


@broken
def one_coordinate_without_noise(total, trials, rng):
    noisy = total + rng.laplace(scale=2.0, size=(trials, 3))
    noisy[:, 1] = total
    return noisy


@broken
def the_same_noise_for_all_coordinates(total, trials, rng):
    return np.array([total, 0.0]) + rng.laplace(scale=2.0, size=trials)[:, None]


@broken
def a_threshold_without_noise(total, trials, rng):
    return np.full(trials, float(total > 0.5))


@broken
def noise_before_the_threshold_too_small(total, trials, rng):
    return (total + rng.laplace(scale=0.2, size=trials) > 0.5).astype(float)


@broken
def the_largest_without_noise(total, trials, rng):
    return np.full(trials, float(np.argmax([0.5, total])))


@broken
def a_mean_of_few_with_the_noise_of_many(total, trials, rng):
    return total / 2 + rng.laplace(scale=0.1, size=trials)


@broken
def noise_that_is_averaged_away(total, trials, rng):
    return total + rng.laplace(size=(trials, 25)).mean(axis=1)


@broken
def heavier_tails_on_one_side(total, trials, rng):
    return rng.standard_t(3 if total > 0 else 30, size=trials) * (1 + 2 * total)


@broken
def a_sign_that_follows_the_data(total, trials, rng):
    return np.abs(rng.laplace(size=trials)) * (1 if total > 0 else -1)


@broken
def seeded_by_the_data(total, trials, rng):
    return total + np.random.default_rng(int(total)).laplace(size=trials)


BROKEN = tuple(kind.__name__ for kind in Broken.__subclasses__())
