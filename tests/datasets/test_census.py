import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from dpaudit.datasets import ADULT_FEATURES, adult, census, clip_rows, scale_columns
from dpaudit.datasets.census import (
    CATEGORIES,
    COLUMNS,
    NUMERIC,
    encode_census,
    find_merged_parts,
    read_records,
)
from dpaudit.errors import DataError

POOR = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, \
Male, 2174, 0, 40, United-States, <=50K"
RICH = "52, Self-emp-inc, 287927, HS-grad, 9, Married-civ-spouse, Exec-managerial, Wife, White, \
Female, 15024, 0, 40, United-States, >50K"
GAP = "18, ?, 103497, Some-college, 10, Never-married, ?, Own-child, White, \
Female, 0, 0, 30, United-States, <=50K"


@pytest.fixture
def file(tmp_path):
    def write(*lines):
        path = tmp_path / "adult.data"
        path.write_text("\n".join(lines))
        return path

    return write


def read(path):
    return encode_census(read_records(path), str(path))


def test_the_layout_is_six_numbers_and_98_sorted_values():
    assert len(ADULT_FEATURES) == len(set(ADULT_FEATURES)) == 104
    assert ADULT_FEATURES[:6] == NUMERIC
    assert all(values == sorted(values) for values in CATEGORIES.values())
    assert set(COLUMNS) == {*NUMERIC, *CATEGORIES, "income"}


def test_a_record_lands_in_the_named_columns(file):
    features, labels = read(file(POOR, RICH, ""))
    assert labels.tolist() == [-1, 1]
    named = [dict(zip(ADULT_FEATURES, row, strict=True)) for row in features]
    assert [row["age"] for row in named] == [39, 52]
    assert [row["capital-gain"] for row in named] == [2174, 15024]
    assert {name for name, value in named[1].items() if "=" in name and value} == {
        "workclass=Self-emp-inc",
        "education=HS-grad",
        "marital-status=Married-civ-spouse",
        "occupation=Exec-managerial",
        "relationship=Wife",
        "race=White",
        "sex=Female",
        "native-country=United-States",
    }


def test_records_with_a_missing_value_are_left_out(file):
    np.testing.assert_array_equal(read(file(GAP, RICH, GAP))[0], read(file(RICH))[0])


def test_the_layout_does_not_depend_on_the_order_or_the_choice_of_records(file):
    both = read(file(POOR, RICH))[0]
    np.testing.assert_array_equal(read(file(RICH, POOR))[0], both[::-1])
    np.testing.assert_array_equal(read(file(RICH))[0], both[1:])


def test_the_test_file_differs_by_a_header_and_full_stops(file):
    plain = read(file(POOR, RICH))
    dressed = read(file("|1x3 Cross validator", POOR + ".", RICH + ".", ""))
    for left, right in zip(plain, dressed, strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([POOR, RICH[:60]], "line 2: found 7 fields, expected 15"),
        ([POOR, "", RICH + ", 1"], "line 3: found 16 fields, expected 15"),
        ([RICH, "a note"], "line 2: found 1 fields, expected 15"),
        (["|1x3 Cross validator"], "found no records"),
        ([GAP, POOR[:-1]], "line 2: income: got '<=50', expected one of: <=50K, >50K"),
        ([POOR.replace("39", "?9", 1)], r"line 1: age: got '\?9', expected a number, at least 0"),
        ([POOR.replace("39", "-39", 1)], "line 1: age: got '-39'"),
        ([POOR.replace("39", "inf", 1)], "line 1: age: got 'inf'"),
        ([POOR.replace("39", "", 1)], "line 1: age: got ''"),
        ([POOR.replace("White", "Whte")], "line 1: race: got 'Whte', expected one of: Amer-"),
        ([POOR.replace("State-gov", "Never-worked")], "line 1: workclass: got 'Never-worked'"),
    ],
)
@pytest.mark.usefixtures("records_shown")
def test_a_damaged_line_is_named(file, lines, reason):
    path = file(*lines)
    with pytest.raises(DataError, match=f"^{path}: {reason}") as refusal:
        read(path)
    assert "\n" not in str(refusal.value)


def test_a_file_cut_at_a_line_end_is_refused(file):
    path = file(POOR, RICH)
    (path.parent / "adult.test").write_text(POOR)
    with pytest.raises(DataError, match=r"adult.data: found 2 records, expected 32,561"):
        adult(path.parent)


def test_gaps_where_none_belong_are_refused(file, monkeypatch):
    monkeypatch.setattr(census, "FILE_RECORDS", (2, 1))
    path = file(POOR, GAP)
    (path.parent / "adult.test").write_text(RICH)
    with pytest.raises(DataError, match=r"found 2 complete records, expected 45,222"):
        adult(path.parent)


def test_a_directory_in_the_place_of_a_file_is_refused(tmp_path):
    for name in ("adult.data", "adult.test"):
        (tmp_path / name).mkdir()
    with pytest.raises(DataError, match=r"adult\.data: found a directory, expected a file"):
        adult(tmp_path)


@pytest.fixture(scope="module")
def data(raw_files):
    return adult(raw_files)


@pytest.fixture(scope="module")
def records(raw_files):
    return pd.concat([read_records(path) for path in census.SOURCE.find(raw_files)])


class TestRealRecords:
    def test_shape_and_label_balance(self, data):
        assert data.features.shape == (45_222, 104)
        assert data.nodes == 1
        assert (data.labels == 1).sum() == 11_208
        data.require_signed_labels()

    def test_raw_counts(self, records):
        assert len(records) == 48_842
        assert records["income"].str.startswith(">50K").sum() == sum(census.FILE_POSITIVES)

    def test_columns_have_maximum_one_and_then_rows_norm_at_most_one(self, data, records):
        scaled = scale_columns(encode_census(records, "files")[0])
        np.testing.assert_array_equal(scaled.max(axis=0), np.ones(104))
        np.testing.assert_array_equal(data.features, clip_rows(scaled))
        norms = np.linalg.norm(data.features, axis=1)
        assert norms.max() <= 1 + 1e-12
        # Eight binary features alone have norm above 2, so every row is scaled to the bound.
        assert norms.min() >= 1 - 1e-12

    def test_the_categories_are_those_of_the_complete_records(self, records):
        complete = records[~records.eq("?").any(axis=1)]
        found = {column: sorted(complete[column].unique()) for column in CATEGORIES}
        assert found == dict(CATEGORIES)

    def test_training_records_come_first(self, data):
        first = dict(zip(ADULT_FEATURES, data.features[0], strict=True))
        assert first["workclass=State-gov"] > 0
        assert first["age"] / first["workclass=State-gov"] == pytest.approx(39 / 90)
        assert (data.labels[:30_162] == 1).sum() == 7_508

    def test_an_independent_encoding_agrees(self, data, records):
        complete = records.replace("?", np.nan).dropna()
        numbers = complete[list(NUMERIC)].astype(float)
        binary = pd.get_dummies(complete[list(CATEGORIES)], prefix_sep="=", dtype=float)
        table = pd.concat([numbers, binary], axis=1)
        assert tuple(table.columns) == ADULT_FEATURES
        table /= table.max()
        rows = table.to_numpy()
        rows /= np.sqrt((rows**2).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(data.features, rows, rtol=1e-12)

    def test_the_copy_on_openml_gives_the_same_dataset(self, data, records, openml):
        openml(Bunch(frame=as_openml(records)))
        fetched = adult()
        np.testing.assert_array_equal(fetched.features, data.features)
        np.testing.assert_array_equal(fetched.labels, data.labels)

    def test_a_lost_line_is_noticed(self, raw_files, tmp_path):
        train, test = (path.read_text() for path in census.SOURCE.find(raw_files))
        (tmp_path / "adult.data").write_text(train)
        (tmp_path / "adult.test").write_text(test.rstrip().rpartition("\n")[0])
        with pytest.raises(DataError, match=r"adult.test: found 16,280 records, expected 16,281"):
            adult(tmp_path)


def as_openml(records):
    """Dress raw records, training file first, as OpenML's copy: test file first, typed columns."""
    frame = pd.concat([records.iloc[32_561:], records.iloc[:32_561]], ignore_index=True)
    frame["income"] = frame["income"].str.removesuffix(".")
    frame = frame.replace("?", np.nan).rename(columns={"income": "class"})
    numbers = dict.fromkeys(NUMERIC, "int64")
    return frame.astype({**dict.fromkeys([*CATEGORIES, "class"], "category"), **numbers})


def made_up_records():
    """As many records, positives and gaps as Adult has, with its values in turn."""
    count = sum(census.FILE_RECORDS)
    turn = np.arange(count)
    columns = {name: (turn % (7 + place)).astype(str) for place, name in enumerate(NUMERIC)}
    for name, values in CATEGORIES.items():
        columns[name] = np.array(values, dtype=object)[turn % len(values)]
    train = census.FILE_RECORDS[0]
    positive = np.where(turn < train, turn < 7_841, turn - train < 3_846)
    columns["income"] = np.where(positive, ">50K", "<=50K").astype(object)
    columns["occupation"][-(count - census.COMPLETE_RECORDS) :] = "?"
    return pd.DataFrame(columns)[list(COLUMNS)]


class TestFetch:
    @pytest.mark.parametrize("dress", [as_openml, lambda r: r.rename(columns={"income": "class"})])
    def test_either_order_gives_the_training_records_first(self, openml, dress):
        records = made_up_records()
        calls = openml(Bunch(frame=dress(records)))
        data = adult()
        assert calls[0][0] == "adult"
        assert calls[0][1]["version"] == 2
        features, labels = encode_census(records, "made up")
        np.testing.assert_array_equal(data.features, clip_rows(scale_columns(features)))
        np.testing.assert_array_equal(data.labels, labels)

    def test_another_order_is_refused(self, openml):
        records = made_up_records().sample(frac=1, random_state=1)
        openml(Bunch(frame=records.rename(columns={"income": "class"})))
        with pytest.raises(DataError, match=r"OpenML 'adult' version 2: its records are not those"):
            adult()

    def test_another_number_of_records_is_refused(self, openml):
        openml(Bunch(frame=made_up_records().iloc[:100]))
        with pytest.raises(DataError, match=r"found 100 records, expected 48,842"):
            adult()

    def test_an_absent_column_is_refused(self, openml):
        openml(Bunch(frame=made_up_records().drop(columns="fnlwgt")))
        with pytest.raises(DataError, match=r"no column fnlwgt; put adult\.data and adult\.test"):
            adult()

    def test_too_few_gaps_are_refused(self, openml):
        records = made_up_records().replace({"occupation": {"?": "Sales"}})
        openml(Bunch(frame=records))
        with pytest.raises(DataError, match=r"^OpenML .* found 48,842 complete records"):
            adult()

    def test_no_network(self, openml):
        openml(ConnectionError("offline"))
        with pytest.raises(DataError, match=r"not fetched .*DPAUDIT_DATA or --data-path$"):
            adult()


def test_merged_parts_partition_the_records():
    positive = np.zeros(48_842, dtype=bool)
    positive[:3_846] = positive[-7_841:] = True
    train, test = find_merged_parts(positive, census.SOURCE)
    order = np.concatenate([np.arange(48_842)[train], np.arange(48_842)[test]])
    assert len(np.arange(48_842)[train]) == 32_561
    assert sorted(order.tolist()) == list(range(48_842))
