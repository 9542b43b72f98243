"""Parts of diffprivlib as its documentation tells people to call them.

Imports nothing of dpaudit: this runs where that is not installed.
"""

import diffprivlib.tools


def tools_mean(data, epsilon, bounds):
    return diffprivlib.tools.mean(data, epsilon=epsilon, bounds=bounds)
