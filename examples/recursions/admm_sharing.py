"""ADMM sharing: two parties hold columns of the features, a centre holds the labels.

Source: Hu, Liu, Ge, Kong, Jiang and Niu, Learning privately over distributed features: an ADMM
sharing approach (2020), equations (6) to (9), with the squared loss and a ridge. Party m sends D_m
x_m with noise, and the centre answers with the gap between the sum of these messages and its own
copy of the prediction. The features are public, and the labels are private. A party sees its own
messages and the gaps.

For any guess of the labels, party 0 can compute all messages of party 1 from the gaps. Labels that
differ by c move the noise in the first message by c, and in each later one by c - penalty * K c,
where K is the smoothing matrix of party 1: mu**2 = (||c||**2 + 14 ||c - penalty * K c||**2) /
noise**2. The messages and the gaps together reveal the labels without error, because the centre
adds no noise.
"""

import numpy as np

SOURCE = "Hu and others 2020"
PRIVATE = np.zeros(4)
CHANGES = {"label 0 by 2": np.array([2.0, 0.0, 0.0, 0.0])}
COLUMNS = (
    np.array([[1.0, 0.0], [0.5, 1.0], [0.0, -1.0], [-0.5, 0.5]]),
    np.array([[0.5], [-1.0], [1.0], [0.5]]),
)
MU = {
    "admm_sharing": {
        "label 0 by 2": {
            "party 0": 3.72512324761,
            "party 1": 2.94450381655,
            "all messages": np.inf,
        },
    },
}


def admm_sharing(private, rng):
    penalty, noise_scale = 0.5, 2.0
    smooths = [
        columns
        @ np.linalg.inv(np.eye(columns.shape[1]) + penalty * columns.T @ columns)
        @ columns.T
        for columns in COLUMNS
    ]
    messages = [np.zeros(4), np.zeros(4)]
    dual, gap, sent, gaps = np.zeros(4), np.zeros(4), [], []
    for _ in range(15):
        messages = [
            rng.normal(scale=noise_scale, size=4) - smooth @ (dual + penalty * (gap - message))
            for smooth, message in zip(smooths, messages, strict=True)
        ]
        total = sum(messages)
        gap = total - (private + dual + penalty * total) / (1 + penalty)
        dual = dual + penalty * gap
        sent.append(messages)
        gaps.append(gap)
    return {
        "party 0": [[own for own, _ in sent], gaps],
        "party 1": [[own for _, own in sent], gaps],
        "all messages": [sent, gaps],
    }
