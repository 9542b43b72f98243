import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, vstack
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from dpaudit.datasets import a9a, libsvm, svmlight
from dpaudit.errors import DataError, DpauditError, InvalidArgument

GOOD = "+1 1:3 2:4\n-1 2:1 3:0.5 # a comment\n\n+1\n"


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "records.txt"
        path.write_text(text)
        return path

    return write


def test_values_and_labels_are_read(file):
    data = libsvm(file(GOOD), scaled=False)
    np.testing.assert_array_equal(data.features, [[3, 4, 0], [0, 1, 0.5], [0, 0, 0]])
    assert data.labels.tolist() == [1, -1, 1]
    assert data.name == "records.txt"


def test_records_are_preprocessed_by_default(file):
    data = libsvm(file(GOOD))
    expected = [[np.sqrt(0.5), np.sqrt(0.5), 0], [0, 0.25 / np.sqrt(1.0625), 1 / np.sqrt(1.0625)]]
    np.testing.assert_allclose(data.features[:2], expected)
    data.require_unit_rows()


def test_n_features_widens_the_records(file):
    assert libsvm(file(GOOD), n_features=7).dimension == 7


def test_indices_may_begin_at_zero(file):
    assert libsvm(file("1 0:1 2:1\n-1 1:1\n"), zero_based=True).dimension == 3


def test_the_positive_label_may_be_named(file):
    assert libsvm(file("2 1:1\n1 1:2\n"), positive=2).labels.tolist() == [1, -1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "found no text"),
        ("# only a comment\n", "found 0 records without a single feature"),
        ("+1\n-1\n", "found 2 records without a single feature"),
        ("+1 1:3\n-1 1:", "line 2: got '1:', expected index:value"),
        ("+1 1:3\n-1 1:2 2", "line 2: got '2', expected index:value"),
        ("+1 1:3\n\n-1 1:x", "line 3: got '1:x', expected index:value"),
        ("+1 1:3\n-1 1:nan", "line 2: got '1:nan', expected index:value with a finite number"),
        ("+1 1:1e999", "line 1: got '1:1e999', expected index:value with a finite number"),
        ("yes 1:3", "line 1: label: got 'yes', expected a finite number"),
        ("nan 1:3", "line 1: label: got 'nan'"),
        ("+1 0:3", "line 1: index 0: expected indices that ascend from 1"),
        ("+1 2:3 1:3", "line 1: index 1: expected indices that ascend"),
        ("+1 4:3", "line 1: index 4: expected at most 3 features"),
        ("+1 1:3\n0 1:1", "found labels 0.0, 1.0, expected -1 and [+]1; name the one"),
    ],
)
@pytest.mark.usefixtures("records_shown")
def test_a_damaged_file_is_named_with_its_line(file, text, reason):
    path = file(text)
    n_features = 3 if "4:3" in text else None
    with pytest.raises(DataError, match=f"^{path}: {reason}") as refusal:
        libsvm(path, n_features)
    assert "\n" not in str(refusal.value)


def test_a_file_that_no_reader_takes_is_refused_with_what_the_reader_says(file):
    with pytest.raises(DataError, match=r"no reader takes it: .*show-records"):
        libsvm(file("+1 99999999999999999999:1"))


def test_an_index_that_would_fill_the_memory_is_refused(file):
    with pytest.raises(DataError, match="found 1 records of 2,000,000,000 features"):
        libsvm(file("+1 2000000000:1\n"))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "records"
    path.write_bytes(b"+1 1:1\n+1 \xff:1\n")
    with pytest.raises(DataError, match="line 2: byte 4 is not UTF-8"):
        libsvm(path)


@pytest.mark.parametrize("n_features", [0, -1, 1.5, True, "3"])
def test_a_bad_number_of_features_is_refused(file, n_features):
    with pytest.raises(InvalidArgument, match="n_features"):
        libsvm(file(GOOD), n_features)


@given(position=st.integers(0, len(GOOD) - 1), byte=st.sampled_from("\0\n\t :.#19-+ex"))
def test_damage_is_refused_or_harmless_but_never_surprises(tmp_path_factory, position, byte):
    path = tmp_path_factory.getbasetemp() / "damaged.txt"
    path.write_text(GOOD[:position] + byte + GOOD[position + 1 :])
    refusal = None
    try:
        libsvm(path).require_unit_rows()
    except DpauditError as error:
        refusal = str(error)
    assert refusal is None or "\n" not in refusal


def made_up_a9a():
    """As many records and positives as a9a and a9a.t have, told apart by their features."""
    parts = []
    for size, positives in ((32_561, 7_841), (16_281, 3_846)):
        rows = np.arange(size)
        columns = np.concatenate([rows % 60, 60 + rows % 63])
        features = csr_matrix((np.ones(2 * size), (np.tile(rows, 2), columns)), shape=(size, 123))
        parts.append((features, np.where(rows < positives, 1, -1)))
    return parts


def as_openml(parts):
    features, labels = zip(*parts, strict=True)
    return Bunch(data=vstack(features).tocsr(), target=np.concatenate(labels).astype(str))


class TestA9a:
    def test_an_unknown_split_is_refused(self):
        with pytest.raises(InvalidArgument, match="split: got 'all', expected one of: train, test"):
            a9a(split="all")

    @pytest.mark.parametrize(("split", "row"), [("train", 0), ("test", 1)])
    @pytest.mark.parametrize("order", [1, -1])
    def test_the_copy_on_openml_is_cut_into_the_files(self, openml, split, row, order):
        parts = made_up_a9a()
        calls = openml(as_openml(parts[::order]))
        data = a9a(split=split)
        assert calls[0][0] == "a9a"
        assert calls[0][1]["version"] == 1
        assert not calls[0][1]["as_frame"]
        np.testing.assert_array_equal(data.features > 0, parts[row][0].toarray() > 0)
        np.testing.assert_array_equal(data.labels, parts[row][1])
        assert data.name == f"a9a-{split}"

    def test_another_copy_on_openml_is_refused(self, openml):
        (features, labels), _ = made_up_a9a()
        openml(Bunch(data=features, target=labels))
        with pytest.raises(DataError, match=r"found 32,561 records of 123 features, expected 48,8"):
            a9a()

    def test_words_for_labels_are_refused(self, openml):
        bunch = as_openml(made_up_a9a())
        openml(Bunch(data=bunch.data, target=np.full(48_842, "rich")))
        with pytest.raises(DataError, match="its labels are not numbers"):
            a9a()

    @pytest.mark.usefixtures("records_shown")
    def test_other_labels_are_refused(self, openml):
        bunch = as_openml(made_up_a9a())
        bunch.target[bunch.target == "-1"] = "0"
        openml(bunch)
        with pytest.raises(DataError, match=r"found labels 0\.0, 1\.0, expected -1 and \+1"):
            a9a()

    def test_no_network(self, openml):
        openml(ConnectionError("offline"))
        with pytest.raises(DataError, match=r"put a9a\.t \(LIBSVM Data.*DPAUDIT_DATA or --data"):
            a9a(split="test")

    def test_a_cut_file_is_refused(self, tmp_path):
        (tmp_path / "a9a").write_text("-1 3:1 11:1\n")
        with pytest.raises(DataError, match=r"\(train\): found 1 records, expected 32,561"):
            a9a(tmp_path)

    @pytest.mark.usefixtures("records_shown")
    def test_a_feature_beyond_123_is_refused(self, tmp_path):
        (tmp_path / "a9a").write_text("-1 3:1 124:1\n")
        with pytest.raises(DataError, match="line 1: index 124: expected at most 123 features"):
            a9a(tmp_path)

    @pytest.mark.usefixtures("records_shown")
    def test_an_unknown_label_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setattr(svmlight, "FILE_RECORDS", (2, 1))
        (tmp_path / "a9a").write_text("-1 3:1\n2 3:1\n")
        with pytest.raises(DataError, match=r"found labels -1\.0, 2\.0"):
            a9a(tmp_path)

    def test_a_value_that_is_not_binary_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setattr(svmlight, "FILE_RECORDS", (2, 1))
        (tmp_path / "a9a").write_text("-1 3:1\n+1 3:11\n")
        with pytest.raises(DataError, match="neither 0 nor 1"):
            a9a(tmp_path)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("split", "file", "records", "positives"),
    [("train", "a9a", 32_561, 7_841), ("test", "a9a.t", 16_281, 3_846)],
)
def test_real_records(raw_files, split, file, records, positives):
    data = a9a(raw_files, split)
    assert data.features.shape == (records, 123)
    assert (data.labels == 1).sum() == positives
    data.require_signed_labels()
    assert np.linalg.norm(data.features, axis=1).max() <= 1 + 1e-12
    raw, labels = load_svmlight_file(f"{raw_files}/{file}", n_features=123)
    raw = raw.toarray()
    assert set(np.unique(raw)) == {0.0, 1.0}
    np.testing.assert_array_equal(data.labels, labels)
    norms = np.sqrt(raw.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(data.features, raw / norms, rtol=1e-12)
    np.testing.assert_array_equal(a9a(f"{raw_files}/{file}", split).features, data.features)


def test_the_other_file_is_refused(raw_files):
    with pytest.raises(DataError, match=r"a9a\.t \(train\): found 16,281 records"):
        a9a(f"{raw_files}/a9a.t")
