"""Days in a CSV file: texts become days where the domain says that the column holds days."""

import datetime
import json

import pandas as pd
import pytest

from dpaudit.auditing.specification.audits_file import records_from, with_days
from dpaudit.cli.main import main
from dpaudit.domains import Dates, Domain, Numbers
from dpaudit.errors import InvalidArgument

VISITS = "day,x\n2024-01-03,0.5\n2024-02-29,1.0\n"
FIRST, LAST = datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)
DOMAIN = Domain(columns={"day": Dates(first=FIRST, last=LAST), "x": Numbers(low=0, high=1)})
SCHEMA = {
    "day": {
        "type": "string",
        "format": "date",
        "formatMinimum": str(FIRST),
        "formatMaximum": str(LAST),
    },
    "x": {"type": "number", "minimum": 0, "maximum": 1},
}
CODE = """
def visits(data, rng):
    if not str(data["day"].dtype).startswith("datetime64"):
        raise TypeError("no days")
    return float(3 * (data["day"] > "2024-06-01").sum() + rng.laplace())
"""


@pytest.fixture
def visits(tmp_path):
    (tmp_path / "visits.csv").write_text(VISITS)
    return tmp_path / "visits.csv"


def test_a_column_of_days_is_read_as_days(visits):
    read = with_days(records_from(visits), DOMAIN)
    assert read["day"].tolist() == [pd.Timestamp(2024, 1, 3), pd.Timestamp(2024, 2, 29)]
    assert read["x"].tolist() == [0.5, 1.0]


def test_without_such_a_domain_texts_stay_texts(visits):
    records = records_from(visits)
    assert with_days(records, None) is records
    assert with_days(records, Domain(columns={"x": Numbers(low=0, high=1)})) is records


def test_what_is_no_day_is_refused(visits):
    visits.write_text(VISITS.replace("02-29", "02-30"))
    with pytest.raises(InvalidArgument, match="2024-03-01"):
        with_days(records_from(visits), DOMAIN)


@pytest.mark.slow
def test_the_command_line_finds_a_pair_among_days(visits, monkeypatch):
    (visits.parent / "mine_of_days.py").write_text(CODE)
    monkeypatch.chdir(visits.parent)
    monkeypatch.syspath_prepend(visits.parent)
    domain = ("--domain", f"columns={json.dumps(SCHEMA)}", "--relation", "replace-record")
    asked = ("--epsilon", "1", "--trials", "1000", "--in-process")
    with pytest.raises(SystemExit) as ended:
        main(["audit", "mine_of_days:visits", "--dataset", str(visits), *domain, *asked])
    assert ended.value.code == 1
