"""Models of diffprivlib: the numbers that a fitted model publishes, by its documentation."""

from typing import Any

from dpaudit.extension.package import MadePair, PackageClaim, Parameters, Subject

_REPLACE = "replace-record"
_ADD = "add-remove-record"


def _make_model_claim(model: str, relation: str, why: str) -> PackageClaim:
    where = (
        f"docstring of diffprivlib.models.{model}: the privacy parameter epsilon. It names no "
        f"neighbours; read as {relation}: {why}"
    )
    return PackageClaim(epsilon="epsilon", relation=relation, where=where)


def _make_feature_rows(given: Parameters) -> tuple[Any, ...]:
    """Return features between the bounds of a setting, or in the unit square."""
    import numpy as np

    low, high = given.get("bounds", (0.0, 1.0))
    middle = (low + high) / 2
    return (
        np.array([[low, low], [high, high], [low, high], [high, low]]),
        np.full((12, 2), middle),
    )


def _one_column(given: Parameters) -> tuple[Any, ...]:
    import numpy as np

    low, high = given["bounds"]
    spread = np.array([[low], [high]] * 5)
    return (spread, np.full((30, 1), (low + high) / 2))


def _make_labelled_rows(given: Parameters) -> tuple[Any, ...]:
    """Return one feature between the bounds, and two labels."""
    import numpy as np

    low, high = given.get("bounds", (0.0, 1.0))
    features = np.array([[low], [high]] * 5)
    return (
        (features, np.array([0, 1] * 5)),
        (np.full((20, 1), low), np.array([0] * 9 + [1] * 11)),
        (features, np.array([0] * 9 + [1])),
    )


def _of_public_classes(dataset: Any, given: Parameters) -> bool:
    """Return whether every label is one of the classes that were made public."""
    return bool(set(dataset[1].tolist()) <= set(given["classes"]))


def _short_and_long(given: Parameters) -> tuple[MadePair, ...]:
    """Return features of little and of much weight in the second moment, both inside the bounds."""
    import numpy as np

    low, high = given["bounds_X"]
    tenth = low + (high - low) / 10
    targets = np.zeros(4)
    short, long = (np.array([[one], [0.0], [0.0], [0.0]]) for one in (tenth, high))
    pair = MadePair(
        dataset=(short, targets),
        neighbour=(long, targets),
        relation=_REPLACE,
        edit="the first record for one at the upper bound",
    )
    return (pair,)


def _make_target_rows(given: Parameters) -> tuple[Any, ...]:
    import numpy as np

    low, high = given["bounds_X"]
    below, above = given["bounds_y"]
    features = np.array([[low], [high], [low], [high]])
    return ((features, np.array([below, above, below, above])),)


def _get_far_bounds(given: Parameters) -> Any:
    """Return bounds for new values that reach outside the declared ones, as records may."""
    return (-1e6, 1e6)


def _make_boxed_rows(given: Parameters) -> tuple[Any, ...]:
    import numpy as np

    (low, lower), (high, higher) = given["bounds"]
    features = np.array([[low, lower], [high, higher]] * 5)
    return ((features, np.array([0, 1] * 5)), (np.full((20, 2), low), np.array([0, 1] * 10)))


_LINEAR = _make_model_claim("LinearRegression", _REPLACE, "Zhang et al. 2012, on which it is based")
_LOGISTIC = _make_model_claim(
    "LogisticRegression", _REPLACE, "Chaudhuri et al. 2011, on which it is based"
)
_BAYES = _make_model_claim("GaussianNB", _REPLACE, "class_count_ adds up to the number of records")
_MEANS = _make_model_claim("KMeans", _ADD, "Su et al. 2016, on which it is based")
_FOREST = _make_model_claim(
    "RandomForestClassifier", _REPLACE, "trees share records out by their number"
)

MODELS = (
    Subject(
        name="models.StandardScaler",
        code="standard_scaler",
        parameters=(
            {"epsilon": 1.0, "bounds": (0.0, 1.0)},
            {"epsilon": 1.0, "bounds": (5.0, 10.0)},
            {"epsilon": 1.0, "bounds": (0.0, 1.0), "with_std": False},
        ),
        datasets=_make_feature_rows,
        bounds="bounds",
        claims=(_make_model_claim("StandardScaler", _REPLACE, "n_samples_seen_ is published"),),
        nan=False,
        trials=20_000,
    ),
    Subject(
        name="models.PCA",
        code="pca",
        parameters=(
            {"epsilon": 1.0, "data_norm": 1.0, "centered": True},
            {"epsilon": 1.0, "data_norm": 1.0, "bounds": (0.0, 1.0), "n_components": 1},
        ),
        datasets=_make_feature_rows,
        bounds=(0.0, 1.0),
        claims=(_make_model_claim("PCA", _REPLACE, "n_samples_ is published"),),
        nan=False,
        trials=5_000,
    ),
    Subject(
        name="models.LinearRegression",
        code="linear_regression",
        parameters=(
            {"epsilon": 1.0, "bounds_X": (0.0, 1.0), "bounds_y": (0.0, 1.0)},
            {"epsilon": 1.0, "bounds_X": (-1.0, 1.0), "bounds_y": (-1.0, 1.0)},
        ),
        datasets=_make_target_rows,
        bounds="bounds_X",
        claims=(_LINEAR,),
        nan=False,
        trials=10_000,
    ),
    Subject(
        name="models.LinearRegression without intercept",
        code="linear_regression",
        parameters=(
            {
                "epsilon": 1.0,
                "bounds_X": (0.0, 1.0),
                "bounds_y": (0.0, 1.0),
                "fit_intercept": False,
            },
            {
                "epsilon": 1.0,
                "bounds_X": (-1.0, 1.0),
                "bounds_y": (-1.0, 1.0),
                "fit_intercept": False,
            },
        ),
        datasets=_make_target_rows,
        bounds=_get_far_bounds,
        claims=(_LINEAR,),
        nan=False,
        trials=10_000,
    ),
    Subject(
        name="models.LinearRegression within bounds",
        code="linear_regression",
        parameters=(
            {
                "epsilon": 1.0,
                "bounds_X": (0.0, 1.0),
                "bounds_y": (0.0, 1.0),
                "fit_intercept": False,
            },
            {
                "epsilon": 1.0,
                "bounds_X": (-1.0, 1.0),
                "bounds_y": (-1.0, 1.0),
                "fit_intercept": False,
            },
        ),
        datasets=_make_target_rows,
        pairs=_short_and_long,
        bounds="bounds_X",
        relations=(_REPLACE,),
        claims=(_LINEAR,),
        nan=False,
        trials=10_000,
    ),
    Subject(
        name="models.LogisticRegression",
        code="logistic_regression",
        parameters=(
            {"epsilon": 1.0, "data_norm": 1.0, "fit_intercept": False},
            {"epsilon": 1.0, "data_norm": 1.0},
            {"epsilon": 1.0, "data_norm": 0.01},
        ),
        datasets=_make_labelled_rows,
        bounds=(0.0, 1.0),
        claims=(_LOGISTIC,),
        nan=False,
        trials=1_000,
    ),
    Subject(
        name="models.GaussianNB",
        code="gaussian_nb",
        parameters=(
            {"epsilon": 1.0, "bounds": (0.0, 1.0)},
            {"epsilon": 1.0, "bounds": (100.0, 101.0)},
        ),
        datasets=_make_labelled_rows,
        bounds="bounds",
        claims=(_BAYES,),
        nan=False,
        trials=10_000,
    ),
    Subject(
        name="models.GaussianNB of known classes",
        code="gaussian_nb_of_classes",
        parameters=(
            {"epsilon": 1.0, "bounds": (0.0, 1.0), "classes": (0, 1, 2)},
            {"epsilon": 1.0, "bounds": (100.0, 101.0), "classes": (0, 1)},
        ),
        domain=_of_public_classes,
        datasets=_make_labelled_rows,
        bounds="bounds",
        claims=(_BAYES,),
        nan=False,
        trials=10_000,
    ),
    Subject(
        name="models.GaussianNB with bounds by column",
        code="gaussian_nb",
        parameters=(
            {"epsilon": 1.0, "bounds": ([0.0, 0.0], [1.0, 100.0])},
            {"epsilon": 1.0, "bounds": ([0.0, 0.0], [1e-10, 1e-8])},
        ),
        datasets=_make_boxed_rows,
        claims=(_BAYES,),
        nan=False,
        trials=10_000,
    ),
    Subject(
        name="models.KMeans",
        code="k_means",
        parameters=(
            {"epsilon": 1.0, "n_clusters": 1, "bounds": (0.0, 1.0)},
            {"epsilon": 1.0, "n_clusters": 1, "bounds": (100.0, 101.0)},
            {"epsilon": 1.0, "n_clusters": 2, "bounds": (0.0, 1.0)},
        ),
        datasets=_one_column,
        bounds="bounds",
        claims=(_MEANS,),
        nan=False,
        trials=5_000,
        about="the sorted centres",
    ),
    Subject(
        name="models.KMeans with inertia_",
        code="k_means_attributes",
        parameters=({"epsilon": 1.0, "n_clusters": 1, "bounds": (0.0, 1.0)},),
        datasets=_one_column,
        bounds="bounds",
        claims=(_MEANS,),
        nan=False,
        trials=5_000,
        about="the centres, and the inertia that the documentation lists among the attributes",
    ),
    Subject(
        name="models.RandomForestClassifier",
        code="random_forest",
        parameters=(
            {
                "epsilon": 1.0,
                "n_estimators": 1,
                "max_depth": 1,
                "bounds": (0.0, 1.0),
                "classes": (0, 1),
            },
            {
                "epsilon": 1.0,
                "n_estimators": 2,
                "max_depth": 1,
                "bounds": (0.0, 1.0),
                "classes": (0, 1),
            },
        ),
        datasets=_make_labelled_rows,
        bounds="bounds",
        claims=(_FOREST,),
        nan=False,
        trials=5_000,
    ),
)
