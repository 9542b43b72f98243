"""Models of noisy marginals as the documentation of mbi tells people to make them.

Imports nothing of dpaudit: this runs where that is not installed.
"""

import numpy
from mbi import Dataset, Domain, LinearMeasurement, estimation


def noisy_marginals(data, domain, sigma, rng):
    columns = {
        name: numpy.array([row[number] for row in data], dtype=int)
        for number, name in enumerate(domain.attributes)
    }
    dataset = Dataset(columns, domain)
    counts = [numpy.asarray(dataset.project([name]).datavector()) for name in domain.attributes]
    return [
        LinearMeasurement(one + rng.normal(0, sigma, one.size), (name,), sigma)
        for name, one in zip(domain.attributes, counts, strict=True)
    ]


def estimated(data, sizes, rho, iters, rng):
    domain = Domain([f"c{number}" for number in range(len(sizes))], list(sizes))
    sigma = (len(sizes) / (2 * rho)) ** 0.5
    measurements = noisy_marginals(data, domain, sigma, rng)
    model = estimation.MirrorDescent().estimate(domain, measurements, iters=iters)
    marginals = [numpy.asarray(model.project([name]).datavector()) for name in domain.attributes]
    return {"total": float(model.total), "marginals": marginals}


def synthetic(data, sizes, rho, iters, rows, rng):
    domain = Domain([f"c{number}" for number in range(len(sizes))], list(sizes))
    sigma = (len(sizes) / (2 * rho)) ** 0.5
    measurements = noisy_marginals(data, domain, sigma, rng)
    model = estimation.MirrorDescent().estimate(domain, measurements, iters=iters)
    return {name: list(column) for name, column in model.synthetic_data(rows).to_dict().items()}
