"""Gradient descent with momentum and noise on the gradients.

Source: Polyak, Some methods of speeding up the convergence of iteration methods (1964): the heavy
ball, v <- momentum * v + gradient, x <- x - step * v. The loss is x'H x / 2 - b'x with H public and
b private. An observer sees all models, only the last one, or the mean of all.

Successive models reveal the noisy gradient, which moves by ||c|| under noise of scale 2: mu =
sqrt(20) * ||c|| / 2 for all models. Along an axis of H, the last model depends on the gradient of
round t with the factor h_t, where h is the impulse response, and mu = |sum of h| / (2 * root of the
sum of h**2).
"""

import numpy as np

SOURCE = "Polyak 1964"
PRIVATE = np.zeros(3)
CHANGES = {
    "first entry by 1": np.array([1.0, 0.0, 0.0]),
    "first two entries by 1": np.array([1.0, 1.0, 0.0]),
}
MU = {
    "noisy_momentum": {
        "first entry by 1": {
            "all models": 2.2360679775,
            "last model": 0.489430468456,
            "mean model": 2.04411205139,
        },
        "first two entries by 1": {
            "all models": 3.16227766017,
            "last model": 1.29328069198,
            "mean model": 2.88288494523,
        },
    },
}


def noisy_momentum(private, rng):
    curvature = np.diag([1.0, 0.5, 0.1])
    model, velocity, models = np.zeros(3), np.zeros(3), []
    for _ in range(20):
        gradient = curvature @ model - private + 2.0 * rng.standard_normal(3)
        velocity = 0.9 * velocity + gradient
        model = model - 0.1 * velocity
        models.append(model)
    return {"all models": models, "last model": model, "mean model": sum(models) / 20}
