"""Federated averaging, with noise at the clients or at the server.

Sources: McMahan, Moore, Ramage, Hampson and y Arcas, Communication-efficient learning of deep
networks from decentralized data (2017), FedAvg: clients take several steps, and the server takes
the mean; noise at the server as in McMahan, Ramage, Talwar and Zhang, Learning differentially
private recurrent language models (2018). There are four clients, six rounds of three steps, and the
gradient a x - b_i with a public and b_i private. The server sees every update, a client sees its
own updates and the models, and the observer "models" sees only the models.

Given all earlier models, an update of client 0 moves by s = .2 * (1 + .8 + .64). With noise of
scale 1/2 at the clients, mu = sqrt(6) * s / (1/2) for the server. It is smaller by a factor of
sqrt(3) for a client, who knows its own noise, and by a factor of 2 for the models. With noise of
scale 1/2 on the sum at the server, nothing is hidden from the server, and mu = sqrt(6) * s / (1/2)
for clients and models alike.
"""

import numpy as np

SOURCE = "McMahan and others 2017, 2018"
PRIVATE = np.zeros(4)
CHANGES = {"client 0 by 1": np.array([1.0, 0.0, 0.0, 0.0])}
MU = {
    "noisy_clients": {
        "client 0 by 1": {
            "server": 2.39070198896,
            "client 1": 1.38027243688,
            "models": 1.19535099448,
            "last model": 0.785807402927,
        },
    },
    "noisy_server": {
        "client 0 by 1": {
            "server": np.inf,
            "client 1": 2.39070198896,
            "models": 2.39070198896,
            "last model": 1.57161480585,
        },
    },
}


def noisy_clients(private, rng):
    return _federated(private, lambda: rng.normal(scale=0.5, size=4), lambda: 0.0)


def noisy_server(private, rng):
    return _federated(private, lambda: 0.0, lambda: rng.normal(scale=0.5))


def _federated(private, client_noise, server_noise):
    curvatures = np.array([1.0, 0.5, 2.0, 1.5])
    model, updates, models = 0.0, [], []
    for _ in range(6):
        local = np.full(4, 1.0) * model
        for _ in range(3):
            local = local - 0.2 * (curvatures * local - private)
        sent = local - model + client_noise()
        model = model + (sent.sum() + server_noise()) / 4
        updates.append(sent)
        models.append(model)
    updates = np.array(updates)
    return {
        "server": updates,
        "client 1": [updates[:, 1], models],
        "models": models,
        "last model": model,
    }
