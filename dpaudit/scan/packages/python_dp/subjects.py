"""Parts of PyDP as its documentation tells people to call them.

Imports nothing of dpaudit: this runs where that is not installed.
"""

import pydp.algorithms.laplacian
import pydp.algorithms.numerical_mechanisms
import pydp.algorithms.partition_selection
import pydp.algorithms.quantile_tree
import pydp.ml.mechanisms.geometric
import pydp.ml.mechanisms.laplace


def algorithm(data, name, percentile=None, **parameters):
    made = getattr(pydp.algorithms.laplacian, name)
    if percentile is not None:
        return made(percentile=percentile, **parameters).quick_result(data)
    return made(**parameters).quick_result(data)


def algorithm_by_entries(data, name, **parameters):
    made = getattr(pydp.algorithms.laplacian, name)(**parameters)
    for value in data:
        made.add_entry(value)
    return made.result()


def numerical_mechanism(data, trials, name, **parameters):
    made = getattr(pydp.algorithms.numerical_mechanisms, name)(**parameters)
    return [made.add_noise(data[0]) for _ in range(trials)]


def partition_selection(data, trials, **parameters):
    made = pydp.algorithms.partition_selection.create_partition_strategy(**parameters)
    return [made.should_keep(len(data)) for _ in range(trials)]


def quantile_tree(data, lower, upper, quantiles, **parameters):
    tree = pydp.algorithms.quantile_tree.QuantileTree(lower, upper, 3, 4)
    for value in data:
        tree.add_entry(value)
    return tree.compute_quantiles(quantiles=list(quantiles), **parameters)


def ml_geometric(data, epsilon, sensitivity, probability):
    mechanism = pydp.ml.mechanisms.geometric.Geometric().set_epsilon(epsilon)
    mechanism.set_sensitivity(sensitivity).set_probability(probability)
    return mechanism.randomise(data[0])


def ml_geometric_truncated(data, epsilon, sensitivity, probability, lower, upper):
    mechanism = pydp.ml.mechanisms.geometric.GeometricTruncated().set_epsilon(epsilon)
    mechanism.set_sensitivity(sensitivity).set_probability(probability).set_bounds(lower, upper)
    return mechanism.randomise(data[0])


def ml_laplace(data, epsilon, sensitivity):
    mechanism = pydp.ml.mechanisms.laplace.Laplace().set_epsilon(epsilon)
    return mechanism.set_sensitivity(sensitivity).randomise(data[0])


def ml_laplace_bounded_domain(data, epsilon, sensitivity, lower, upper):
    mechanism = pydp.ml.mechanisms.laplace.LaplaceBoundedDomain().set_epsilon(epsilon)
    return mechanism.set_sensitivity(sensitivity).set_bounds(lower, upper).randomise(data[0])
