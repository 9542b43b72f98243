"""Files of outputs as people have them: all ways of writing one table give the same numbers."""

import gzip
import json
import re
from importlib.util import find_spec

import numpy as np
import pytest

from dpaudit.auditing.files.column_files import read_columns
from dpaudit.auditing.samples.output_pairs import read_outputs
from dpaudit.errors import DataError, InvalidArgument

RNG = np.random.default_rng(5)
ONE = np.round(RNG.normal(size=60), 3)
TWO = np.column_stack([ONE, np.round(RNG.laplace(size=60), 4)])
OTHER = np.round(RNG.normal(1, 1, 50), 3)


def lines(rows, between=",", mark="."):
    rows = np.asarray(rows)
    rows = rows[:, None] if rows.ndim == 1 else rows
    return "\n".join(between.join(str(x).replace(".", mark) for x in row) for row in rows) + "\n"


def quoted(rows):
    return "".join(f'"{x}"\n' for x in rows)


FORMS = {
    "plain": (lines(ONE), ONE),
    "header": ("output\n" + lines(ONE), ONE),
    "quoted header": ('"the output"\n' + quoted(ONE), ONE),
    "CRLF": (("output\n" + lines(ONE)).replace("\n", "\r\n"), ONE),
    "blank lines": ("\n\n" + lines(ONE).replace("\n", "\n\n"), ONE),
    "remark": ("# drawn on Monday\n" + lines(ONE), ONE),
    "no last end of line": (lines(ONE).rstrip(), ONE),
    "decimal commas": (lines(ONE, mark=","), ONE),
    "decimal commas below a name": ("wert\n" + lines(ONE, mark=","), ONE),
    "quoted decimal commas": (quoted([str(x).replace(".", ",") for x in ONE]), ONE),
    "commas": (lines(TWO), TWO),
    "semicolons": ("x;y\n" + lines(TWO, ";"), TWO),
    "semicolons and decimal commas": ("x;y\n" + lines(TWO, ";", ","), TWO),
    "semicolons at the end": ("x;y;\n" + lines(TWO, ";", ",").replace("\n", ";\n"), TWO),
    "tabs": (lines(TWO, "\t"), TWO),
    "tabs and decimal commas": ("x\ty\n" + lines(TWO, "\t", ","), TWO),
    "bars": (lines(TWO, "|"), TWO),
    "blanks": (lines(TWO, "  "), TWO),
    "blanks after commas": (lines(TWO, ", "), TWO),
    "JSON": (json.dumps(ONE.tolist()), ONE),
    "JSON of rows": (json.dumps(TWO.tolist()), TWO),
    "JSON of objects": (json.dumps([{"x": x, "y": {"z": z}} for x, z in TWO]), TWO),
    "JSON of lists by name": (json.dumps({"x": TWO[:, 0].tolist(), "y": TWO[:, 1].tolist()}), TWO),
    "JSON of one list": (json.dumps({"outputs": ONE.tolist()}), ONE),
    "JSON lines": ("".join(json.dumps({"x": x, "y": y}) + "\n" for x, y in TWO), TWO),
    "JSON lines of rows": ("".join(json.dumps([x, y]) + "\n" for x, y in TWO), TWO),
}


def numbers(path):
    found = read_columns(path)
    return np.column_stack([one.values for one in found.columns]), found


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "gzip"])
def test_a_table_is_read_however_it_is_written(name, encoding, tmp_path):
    text, rows = FORMS[name]
    packed = encoding == "gzip"
    held = gzip.compress(text.encode()) if packed else text.encode(encoding)
    file = tmp_path / ("a.csv.gz" if packed else "a.csv")
    file.write_bytes(held)
    found, _ = numbers(file)
    assert np.array_equal(found, rows.reshape(len(rows), -1))


def test_arrays_are_read_as_they_are(tmp_path):
    np.save(tmp_path / "a.npy", TWO)
    np.savez(tmp_path / "a.npz", TWO)
    for name in ("a.npy", "a.npz"):
        assert np.array_equal(numbers(tmp_path / name)[0], TWO)


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is an extra")
def test_parquet_is_read(tmp_path):
    from pyarrow import parquet, table

    parquet.write_table(table({"x": TWO[:, 0], "y": TWO[:, 1]}), tmp_path / "a.parquet")
    assert np.array_equal(numbers(tmp_path / "a.parquet")[0], TWO)


def test_points_of_thousands_part_no_columns(tmp_path):
    file = tmp_path / "sums.csv"
    file.write_text("Summe\n1.042,25\n999,5\n-1.234.567,125\n")
    assert numbers(file)[0].tolist() == [[1042.25], [999.5], [-1234567.125]]
    file.write_text("1.042,285\n1.043,286\n1.044,287\n1.049,201\n")
    with pytest.raises(DataError, match="may be one number with a decimal comma, or two"):
        numbers(file)
    file.write_text("first,second\n1.042,285\n1.043,286\n")
    assert numbers(file)[0].tolist() == [[1.042, 285], [1.043, 286]]


def test_what_is_guessed_is_said(tmp_path):
    (tmp_path / "a.csv").write_text("x;y\n" + lines(TWO, ";", ","))
    (tmp_path / "b.csv").write_bytes(lines(TWO).encode("utf-16"))
    found = read_outputs([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert [one.rpartition("csv: ")[2] for one in found.found] == [
        "60 outputs of 2 numbers, a header, semicolons, decimal commas",
        "60 outputs of 2 numbers, no header, commas, UTF-16",
    ]


WRONG = {
    "a word among numbers": ("1.5\n2.5\nabc\n3.5\n", r"line 3: got .*expected a finite number"),
    "nothing among numbers": ("x,y\n1,2\n3,\n5,6\n", r"line 3: got nothing, expected a finite"),
    "NaN": ("1.5\nnan\n2.5\n", r"line 2: got nan, expected a finite number"),
    "infinity": ("1.5\n-inf\n2.5\n", r"line 2: got -inf, expected a finite number"),
    "a cell more": ("x;y\n1;2\n3;4;5\n6;7\n", r"line 3: has 3 cells, expected 2 as in line 2"),
    "a cell less": ("x;y\n1;2\n3;4\n6\n", r"line 4: has 1 cell, expected 2 as in line 2"),
    "an underscore": ("1.5\n2_5\n2.5\n", r"line 2: got .*expected a finite number"),
    "either of two": (
        "3,14\n2,71\n1,61\n5,20\n",
        r"line 1: may be one number with a decimal comma",
    ),
    "nothing": ("\n\n", r"is empty, expected an output a line"),
    "broken JSON": ("[1, 2,\n3, oops]", r"line 2: is no JSON .*expected a list of outputs"),
    "JSON of nothing": ("[1, null, 3]", r"output 2: got nothing, expected a finite number"),
    "JSON of other names": ('[{"x": 1}, {"x": 1, "y": 2}]', r"output 2: has 2 values, expected"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_read_names_file_and_line(name, tmp_path):
    text, said = WRONG[name]
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError, match=said) as caught:
        read_columns(tmp_path / "a.csv")
    assert str(tmp_path / "a.csv") in str(caught.value)


def test_a_cell_is_not_shown_unless_it_is_asked_for(tmp_path):
    (tmp_path / "a.csv").write_text("1.5\n2.5\nsecret\n3.5\n")
    with pytest.raises(DataError) as caught:
        read_columns(tmp_path / "a.csv")
    assert "secret" not in str(caught.value)


def pair(tmp_path, first, second, **given):
    (tmp_path / "a.csv").write_text(first)
    (tmp_path / "b.csv").write_text(second)
    return read_outputs([tmp_path / "a.csv", tmp_path / "b.csv"], **given)


def numbered(rows, start=0, step=1, head=""):
    return head + "".join(f"{start + step * n},{x}\n" for n, x in enumerate(rows))


COUNTERS = {
    "from 0": (numbered(ONE), numbered(OTHER)),
    "one after the other": (numbered(ONE), numbered(OTHER, 60)),
    "in steps": (numbered(ONE, 0, 2), numbered(OTHER, 1, 2)),
    "downwards": (numbered(ONE, 100, -1), numbered(OTHER, 1000, -1)),
    "as pandas writes it": (numbered(ONE, head=",0\n"), numbered(OTHER, 60, head=",0\n")),
    "shuffled": (
        "".join(f"{n},{x}\n" for n, x in zip(RNG.permutation(60), ONE, strict=True)),
        "".join(f"{n},{x}\n" for n, x in zip(RNG.permutation(50) + 60, OTHER, strict=True)),
    ),
    "by its name": (
        "x,run\n" + "".join(f"{x},{RNG.integers(10**6)}\n" for x in ONE),
        "x,run\n" + "".join(f"{x},{10**7 + RNG.integers(10**6)}\n" for x in OTHER),
    ),
    "of texts": (
        "".join(f"run-{RNG.integers(10**9)},{x}\n" for x in ONE),
        "".join(f"run-{RNG.integers(10**9)},{x}\n" for x in OTHER),
    ),
    "a label of the file": ("".join(f"D,{x}\n" for x in ONE), "".join(f"E,{x}\n" for x in OTHER)),
    "with gaps, shuffled": (
        "".join(
            f"{7 * n + RNG.integers(3)},{x}\n"
            for n, x in zip(RNG.permutation(60), ONE, strict=True)
        ),
        "".join(
            f"{5000 + 7 * n + RNG.integers(3)},{x}\n"
            for n, x in zip(RNG.permutation(50), OTHER, strict=True)
        ),
    ),
    "times, shuffled": (
        "".join(f"{x},{1_700_000_000 + RNG.integers(10**5)}\n" for x in ONE),
        "".join(f"{x},{1_800_000_000 + RNG.integers(10**5)}\n" for x in OTHER),
    ),
    "times in milliseconds": (
        "".join(f"{x},{1_700_000_000_000 + RNG.integers(10**8)}\n" for x in ONE),
        "".join(f"{x},{1_800_000_000_000 + RNG.integers(10**8)}\n" for x in OTHER),
    ),
    "labels of batches": (
        "".join(f"A{RNG.integers(5)},{x}\n" for x in ONE),
        "".join(f"B{RNG.integers(5)},{x}\n" for x in OTHER),
    ),
    "in one file alone": (numbered(ONE), lines(OTHER)),
}


@pytest.mark.parametrize("name", COUNTERS)
def test_what_is_no_output_is_left_out_and_named(name, tmp_path):
    found = pair(tmp_path, *COUNTERS[name])
    assert np.array_equal(found.on_dataset[:, 0], ONE)
    assert np.array_equal(found.on_neighbour[:, 0], OTHER)
    assert found.on_dataset.shape[1] == 1
    assert len(found.left_out) == 1 or name == "in one file alone"


def test_files_of_counters_alone_are_refused(tmp_path):
    with pytest.raises(DataError, match="counts rows, which is no output, and nothing else"):
        pair(tmp_path, lines(range(60)), lines(range(60, 120)))


def test_columns_go_by_their_names(tmp_path):
    turned = TWO[:, ::-1] + 1
    found = pair(tmp_path, "x,y\n" + lines(TWO), "y,x\n" + lines(turned))
    assert np.array_equal(found.on_neighbour, turned[:, ::-1])


def test_a_column_can_be_left_out(tmp_path):
    found = pair(tmp_path, "x,y\n" + lines(TWO), "x,y\n" + lines(TWO + 1), ignore=["x"])
    assert found.names == ("y",)
    assert np.array_equal(found.on_dataset[:, 0], TWO[:, 1])
    with pytest.raises(InvalidArgument, match="--ignore: got 'z', expected a column of the files"):
        pair(tmp_path, "x,y\n" + lines(TWO), "x,y\n" + lines(TWO), ignore=["z"])


ONE_FILE = {
    "by a name": ("dataset,x\n", ("a", "b")),
    "by numbers": ("is_neighbour,x\n", (0, 1)),
    "by words": ("x1,x\n", ("dataset", "neighbour")),
    "without a header": ("", ("D", "D'")),
}


@pytest.mark.parametrize("name", ONE_FILE)
def test_one_file_may_say_which_dataset_a_row_is_of(name, tmp_path):
    head, words = ONE_FILE[name]
    rows = [(words[0], x) for x in ONE] + [(words[1], x) for x in OTHER]
    order = RNG.permutation(len(rows))
    (tmp_path / "a.csv").write_text(head + "".join(f"{rows[n][0]},{rows[n][1]}\n" for n in order))
    found = read_outputs([tmp_path / "a.csv"])
    sides = [np.sort(side[:, 0]) for side in (found.on_dataset, found.on_neighbour)]
    wanted = [np.sort(ONE), np.sort(OTHER)]
    if words == (0, 1):
        sides = sides[::-1]
    assert all(np.array_equal(*both) for both in zip(sides, wanted, strict=True))


def test_two_columns_side_by_side_are_two_datasets(tmp_path):
    (tmp_path / "a.csv").write_text("with,without\n" + lines(TWO))
    found = read_outputs([tmp_path / "a.csv"])
    assert np.array_equal(found.on_dataset[:, 0], TWO[:, 0])
    np.savez(tmp_path / "b.npz", neighbour=OTHER, dataset=ONE)
    found = read_outputs([tmp_path / "b.npz"])
    assert np.array_equal(found.on_dataset[:, 0], ONE)
    assert np.array_equal(found.on_neighbour[:, 0], OTHER)


def test_a_file_that_says_nothing_of_datasets_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + lines(TWO))
    with pytest.raises(DataError, match="expected a column named dataset with two values"):
        read_outputs([tmp_path / "a.csv"])


def test_texts_become_a_number_a_kind(tmp_path):
    words = np.array(["yes", "no", "perhaps"])
    first, second = words[RNG.integers(3, size=60)], words[RNG.integers(3, size=60)]
    found = pair(tmp_path, "answer\n" + lines(first), "answer\n" + lines(second))
    assert found.on_dataset.shape == (60, 3)
    assert np.array_equal(found.on_dataset[:, 2] == 1, first == "yes")
    two = pair(tmp_path, lines(np.where(first == "yes", "in", "out")), lines(["in", "out"] * 30))
    assert two.is_of_guesses


def test_files_of_other_columns_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"b.csv: has 1 column, expected 2 columns \(x, y\)"):
        pair(tmp_path, "x,y\n" + lines(TWO), lines(OTHER))
    with pytest.raises(
        DataError, match="holds 39 outputs, expected at least 40 a dataset; the counts"
    ):
        pair(tmp_path, lines(ONE), lines(OTHER[:39]))


def test_a_workbook_is_named_as_one(tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    with pytest.raises(DataError, match=re.escape("(a workbook is saved as .csv first)")):
        read_columns(tmp_path / "a.xlsx")


@pytest.mark.parametrize(
    ("first", "others", "expected"),
    {
        "commas, then a point": ("1,234.5;7", "2,234.5;8", 1234.5),
        "points, then a comma": ("1.234,5;7", "2.234,5;8", 1234.5),
        "both marks, quoted": ('"1,234.5"', '"0.5"', 1234.5),
        "decimal commas, as others say": ("1,234;7", "0,5;8", 1.234),
        "three digits of a fraction": ("1.234", "0.123", 1.234),
        "blanks": ("1 234;7", "5;8", "line 1.*between thousands"),
        "narrow blanks": ("1\u202f234;7", "1\xa0234;8", "line 1.*between thousands"),
        "apostrophes": ("1'234.5;7", "5.5;8", "line 1.*between thousands"),
        "blanks, one column": ("1 234", "5 678", "line 1: may be one number with marks"),
        "commas that may be decimal ones": ("41,234;7", "42,567;8", "line 1.*may part thousands"),
        "commas, one column": ("1,234.5", "5,678.5", "line 1: may be one number with marks"),
        "points beside whole numbers": ("1.234", "987", "line 1.*between thousands"),
        "points beside decimal commas": ("1.234;7", "0,5;8", "line 1.*between thousands"),
        "two commas": ("1,234,567;7", "5;8", "line 1.*between thousands"),
        "two points": ("1.234.567;7", "2.5;8", "line 1: got .*expected a finite number"),
        "no number": ("1,2.3;7", "0.5;8", "line 1: got .*expected a finite number"),
    }.values(),
)
def test_marks_between_thousands_are_read_right_or_refused(tmp_path, first, others, expected):
    path = tmp_path / "a.csv"
    path.write_text("\n".join([first, *[others] * 59]), encoding="utf-8")
    if isinstance(expected, float):
        assert read_columns(path).columns[0].values[0] == expected
        return
    with pytest.raises(DataError, match=expected):
        read_columns(path)
