"""Noisy power iteration: the leading direction of unit records in the plane, by five products.

Guarantee: mu = sqrt(5) / 2 = 1.1180, which is epsilon = 4.9834 at delta = 1e-5, for one record
replaced. The matrices of two unit records differ by at most 1 in norm. These two records are at
right angles, so that the difference is a reflection and every product moves by exactly 1, whatever
came before, under noise of scale 2. The mu is a closed form, and its epsilon is from 50-digit
arithmetic. The false claim is the epsilon of a single product, 1.9931.
"""

import numpy as np

DATASET = np.array([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6], [0.8, -0.6]])
NEIGHBOUR = np.array([[0.0, 1.0], [0.6, 0.8], [0.8, 0.6], [0.8, -0.6]])
EPSILON = 4.9834
DELTA = 1e-5
FALSE_EPSILON = 1.9931


def power_iteration(data, rng):
    matrix, vector, products = data.T @ data, np.array([1.0, 0.0]), []
    for _ in range(5):
        product = matrix @ vector + rng.normal(0.0, 2.0, size=2)
        vector = product / np.linalg.norm(product)
        products.append(product)
    return np.array(products)
