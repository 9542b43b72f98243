"""Models of diffprivlib 0.3 as its documentation tells people to call them.

Imports nothing of dpaudit: this runs where that is not installed.
"""

import diffprivlib.models


def pca(data, **parameters):
    model = diffprivlib.models.PCA(**parameters).fit(data)
    return {
        "components_": model.components_,
        "explained_variance_": model.explained_variance_,
    }
