import numpy as np
from sklearn.datasets import load_breast_cancer

from dpaudit.datasets import breast_cancer, clip_rows, scale_columns


def test_shape_and_label_balance():
    data = breast_cancer()
    assert data.features.shape == (569, 30)
    assert (data.labels == 1).sum() == 212  # malignant
    data.require_signed_labels()


def test_columns_have_maximum_one_and_then_rows_norm_at_most_one():
    raw = load_breast_cancer()
    scaled = scale_columns(raw.data)
    np.testing.assert_array_equal(scaled.max(axis=0), np.ones(30))
    data = breast_cancer()
    np.testing.assert_array_equal(data.features, clip_rows(scaled))
    assert np.linalg.norm(data.features, axis=1).max() <= 1 + 1e-12


def test_malignant_tumours_are_the_larger_ones():
    raw, data = load_breast_cancer(), breast_cancer()
    radius = raw.data[:, list(raw.feature_names).index("mean radius")]
    assert radius[data.labels == 1].mean() > 1.3 * radius[data.labels == -1].mean()
