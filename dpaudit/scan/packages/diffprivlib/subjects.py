"""Parts of diffprivlib as its documentation tells people to call them.

Imports nothing of dpaudit: this runs where that is not installed.
"""

import diffprivlib.mechanisms
import diffprivlib.models
import diffprivlib.tools
import numpy as np


def mechanism_on_value(data, mechanism, **parameters):
    return getattr(diffprivlib.mechanisms, mechanism)(**parameters).randomise(data[0])


def mechanism_on_utility(data, mechanism, candidates, **parameters):
    utility = [float(data.count(one)) for one in candidates]
    made = getattr(diffprivlib.mechanisms, mechanism)
    return made(utility=utility, candidates=list(candidates), **parameters).randomise()


def mechanism_on_matrix(data, **parameters):
    rows = np.array(data)
    return diffprivlib.mechanisms.Bingham(**parameters).randomise(rows.T @ rows)


def tools_count_nonzero(data, **parameters):
    return diffprivlib.tools.count_nonzero(data, **parameters)


def tools_mean(data, **parameters):
    return diffprivlib.tools.mean(data, **parameters)


def tools_var(data, **parameters):
    return diffprivlib.tools.var(data, **parameters)


def tools_std(data, **parameters):
    return diffprivlib.tools.std(data, **parameters)


def tools_sum(data, dtype=None, **parameters):
    kind = None if dtype is None else getattr(np, dtype)
    return diffprivlib.tools.sum(data, dtype=kind, **parameters)


def tools_nanmean(data, **parameters):
    return diffprivlib.tools.nanmean(data, **parameters)


def tools_nanvar(data, **parameters):
    return diffprivlib.tools.nanvar(data, **parameters)


def tools_nanstd(data, **parameters):
    return diffprivlib.tools.nanstd(data, **parameters)


def tools_nansum(data, **parameters):
    return diffprivlib.tools.nansum(data, **parameters)


def tools_median(data, **parameters):
    return diffprivlib.tools.median(data, **parameters)


def tools_quantile(data, **parameters):
    return diffprivlib.tools.quantile(data, **parameters)


def tools_percentile(data, **parameters):
    return diffprivlib.tools.percentile(data, **parameters)


def tools_histogram(data, weight=None, **parameters):
    weights = None if weight is None else np.full(len(data), weight)
    return diffprivlib.tools.histogram(data, weights=weights, **parameters)


def tools_histogram2d(data, **parameters):
    return diffprivlib.tools.histogram2d(data[:, 0], data[:, 1], **parameters)


def tools_histogramdd(data, **parameters):
    return diffprivlib.tools.histogramdd(data, **parameters)


def standard_scaler(data, **parameters):
    model = diffprivlib.models.StandardScaler(**parameters).fit(data)
    return {"mean_": model.mean_, "var_": model.var_, "n_samples_seen_": model.n_samples_seen_}


def pca(data, **parameters):
    model = diffprivlib.models.PCA(**parameters).fit(data)
    return {
        "mean_": model.mean_,
        "components_": model.components_,
        "explained_variance_": model.explained_variance_,
    }


def linear_regression(data, **parameters):
    model = diffprivlib.models.LinearRegression(**parameters).fit(*data)
    return {"coef_": model.coef_, "intercept_": model.intercept_}


def logistic_regression(data, **parameters):
    model = diffprivlib.models.LogisticRegression(**parameters).fit(*data)
    return {"classes_": model.classes_, "coef_": model.coef_, "intercept_": model.intercept_}


def gaussian_nb(data, **parameters):
    model = diffprivlib.models.GaussianNB(**parameters).fit(*data)
    return {
        "classes_": model.classes_,
        "class_count_": model.class_count_,
        "theta_": model.theta_,
        "var_": model.var_,
    }


def gaussian_nb_of_classes(data, classes, **parameters):
    model = diffprivlib.models.GaussianNB(**parameters).partial_fit(*data, classes=list(classes))
    return {"class_count_": model.class_count_, "theta_": model.theta_, "var_": model.var_}


def k_means(data, **parameters):
    model = diffprivlib.models.KMeans(**parameters).fit(data)
    return np.sort(model.cluster_centers_, axis=0)


def k_means_attributes(data, **parameters):
    model = diffprivlib.models.KMeans(**parameters).fit(data)
    return {"cluster_centers_": model.cluster_centers_, "inertia_": model.inertia_}


def random_forest(data, classes, **parameters):
    model = diffprivlib.models.RandomForestClassifier(classes=list(classes), **parameters)
    model.fit(*data)
    trees = [one.tree_ for one in model.estimators_]
    return {
        "classes_": model.classes_,
        "threshold": np.array([one.threshold for one in trees]),
        "label": np.array([one.value[:, 0, 1] for one in trees]),
    }
