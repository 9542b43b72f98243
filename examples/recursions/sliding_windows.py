"""Sums over a sliding window of a stream, by fresh noise and from noisy blocks.

Source: Bolot, Fawaz, Muthukrishnan, Nikolov and Taft, Private decayed predicate sums on streams
(2013), where windows are composed of sums over dyadic blocks; here there are two sizes, 4 and 1.
Private: 24 numbers of a stream. An observer sees the sum of every eight consecutive numbers.

A number is in eight windows. With fresh noise of scale 2 on each, mu = sqrt(8) / 2. With windows
composed of blocks of four and single numbers, each with noise of scale 2 that is drawn once, mu is
at most sqrt(2) / 2, because a number is in one block and is one single number.
"""

import numpy as np

SOURCE = "Bolot and others 2013"
PRIVATE = np.zeros(24)
CHANGES = {"number 16 by 1": np.eye(24)[16]}
MU = {
    "fresh_noise": {
        "number 16 by 1": {
            "all windows": 1.41421356237,
            "last window": 0.5,
        },
    },
    "noisy_blocks": {
        "number 16 by 1": {
            "all windows": 0.539740163824,
            "last window": 0.353553390593,
        },
    },
}


def fresh_noise(private, rng):
    totals = np.cumsum(np.concatenate([np.zeros(1), private]))
    windows = totals[8:] - totals[:-8] + rng.normal(scale=2.0, size=17)
    return {"all windows": windows, "last window": windows[-1]}


def noisy_blocks(private, rng):
    single = private + 2.0 * rng.standard_normal(24)
    blocks = private.reshape(6, 4).sum(axis=1) + 2.0 * rng.standard_normal(6)
    windows = []
    for start in range(17):
        end, total = start + 8, 0.0
        while start < end:
            whole = start % 4 == 0 and start + 4 <= end
            total = total + (blocks[start // 4] if whole else single[start])
            start += 4 if whole else 1
        windows.append(total)
    return {"all windows": windows, "last window": windows[-1]}
