"""Measurements of OpenDP as its documentation tells people to build them, calibrated to a claim.

A measurement is built once for many outputs. Imports nothing of dpaudit: this runs where that is
not installed.
"""

import opendp.prelude as dp

dp.enable_features("contrib")


def integer_sum(data, trials, bounds, epsilon, noise="laplace"):
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    add = getattr(dp.m, f"then_{noise}")
    sums = space >> dp.t.then_clamp(bounds) >> dp.t.then_sum()
    made = dp.binary_search_chain(lambda scale: sums >> add(scale), d_in=1, d_out=epsilon)
    return [made(data) for _ in range(trials)]


def integer_sum_zcdp(data, trials, bounds, rho):
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    sums = space >> dp.t.then_clamp(bounds) >> dp.t.then_sum()
    made = dp.binary_search_chain(lambda scale: sums >> dp.m.then_gaussian(scale), 1, rho)
    return [made(data) for _ in range(trials)]


def sized_sum(data, trials, bounds, epsilon):
    space = dp.vector_domain(dp.atom_domain(bounds=bounds), len(data)), dp.symmetric_distance()
    sums = space >> dp.t.then_sum()
    made = dp.binary_search_chain(lambda scale: sums >> dp.m.then_laplace(scale), 2, epsilon)
    return [made(data) for _ in range(trials)]


def sized_mean(data, trials, bounds, epsilon):
    space = dp.vector_domain(dp.atom_domain(bounds=bounds), len(data)), dp.symmetric_distance()
    means = space >> dp.t.then_mean()
    made = dp.binary_search_chain(lambda scale: means >> dp.m.then_laplace(scale), 2, epsilon)
    return [made(data) for _ in range(trials)]


def sized_mean_zcdp(data, trials, bounds, rho):
    space = dp.vector_domain(dp.atom_domain(bounds=bounds), len(data)), dp.symmetric_distance()
    means = space >> dp.t.then_mean()
    made = dp.binary_search_chain(lambda scale: means >> dp.m.then_gaussian(scale), 2, rho)
    return [made(data) for _ in range(trials)]


def sized_variance(data, trials, bounds, epsilon):
    space = dp.vector_domain(dp.atom_domain(bounds=bounds), len(data)), dp.symmetric_distance()
    variances = space >> dp.t.then_variance()
    made = dp.binary_search_chain(lambda scale: variances >> dp.m.then_laplace(scale), 2, epsilon)
    return [made(data) for _ in range(trials)]


def imputed_mean(data, trials, bounds, epsilon):
    space = dp.vector_domain(dp.atom_domain(T=float, nan=True)), dp.symmetric_distance()
    middle = sum(bounds) / 2
    means = (
        space
        >> dp.t.then_impute_constant(middle)
        >> dp.t.then_clamp(bounds)
        >> dp.t.then_resize(len(data), middle)
        >> dp.t.then_mean()
    )
    made = dp.binary_search_chain(lambda scale: means >> dp.m.then_laplace(scale), 2, epsilon)
    return [made(data) for _ in range(trials)]


def count(data, trials, epsilon):
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = space >> dp.t.then_count()
    made = dp.binary_search_chain(lambda scale: counts >> dp.m.then_laplace(scale), 1, epsilon)
    return [made(data) for _ in range(trials)]


def count_distinct(data, trials, epsilon):
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = space >> dp.t.then_count_distinct()
    made = dp.binary_search_chain(lambda scale: counts >> dp.m.then_laplace(scale), 1, epsilon)
    return [made(data) for _ in range(trials)]


def count_by_categories(data, trials, categories, epsilon):
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = space >> dp.t.then_count_by_categories(list(categories), MO=dp.L1Distance[int])
    made = dp.binary_search_chain(lambda scale: counts >> dp.m.then_laplace(scale), 1, epsilon)
    return [made(data) for _ in range(trials)]


def thresholded_counts(data, trials, noise, scale, threshold):
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    made = space >> dp.t.then_count_by() >> getattr(dp.m, noise)(scale, threshold)
    return [made(data) for _ in range(trials)]


def private_quantile(data, trials, candidates, alpha, epsilon):
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()

    def quantile(scale):
        then = dp.m.then_private_quantile
        return space >> then(dp.max_divergence(), list(candidates), alpha, scale)

    made = dp.binary_search_chain(quantile, 1, epsilon)
    return [made(data) for _ in range(trials)]


def noisy_max(data, trials, epsilon, negate=False):
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    then = dp.m.then_noisy_max
    made = dp.binary_search_chain(
        lambda scale: space >> then(dp.max_divergence(), scale, negate), 1, epsilon
    )
    return [made(list(data[0])) for _ in range(trials)]


def noisy_max_zcdp(data, trials, rho, negate=False):
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    then = dp.m.then_noisy_max
    measure = dp.zero_concentrated_divergence()
    made = dp.binary_search_chain(lambda scale: space >> then(measure, scale, negate), 1, rho)
    return [made(list(data[0])) for _ in range(trials)]


def noisy_top_k(data, trials, k, epsilon):
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    then = dp.m.then_noisy_top_k
    made = dp.binary_search_chain(
        lambda scale: space >> then(dp.max_divergence(), k, scale), 1, epsilon
    )
    return [made(list(data[0])) for _ in range(trials)]


def randomized_response_bool(data, trials, prob):
    made = dp.m.make_randomized_response_bool(prob)
    return [made(data[0] == "yes") for _ in range(trials)]


def randomized_response(data, trials, categories, prob):
    made = dp.m.make_randomized_response(list(categories), prob)
    return [made(data[0]) for _ in range(trials)]


def laplace_on_integer(data, trials, scale):
    made = dp.m.make_laplace(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale)
    return [made(data[0]) for _ in range(trials)]


def laplace_on_float(data, trials, scale):
    domain = dp.atom_domain(T=float, nan=False)
    made = dp.m.make_laplace(domain, dp.absolute_distance(T=float), scale)
    return [made(data[0]) for _ in range(trials)]


def gaussian_on_float(data, trials, scale):
    domain = dp.atom_domain(T=float, nan=False)
    made = dp.m.make_gaussian(domain, dp.absolute_distance(T=float), scale)
    return [made(data[0]) for _ in range(trials)]


def canonical_noise(data, trials, epsilon, delta):
    domain = dp.atom_domain(T=float, nan=False)
    distance = dp.absolute_distance(T=float)
    made = dp.m.make_canonical_noise(domain, distance, d_in=1.0, d_out=(epsilon, delta))
    return [made(data[0]) for _ in range(trials)]
