"""What a store holds, what is left out of it, and what it is merged of."""

import csv
from functools import partial

import numpy as np
import pytest

from dpaudit.errors import DataError, InvalidArgument
from dpaudit.store import catalogue
from dpaudit.store.catalogue import (
    OtherDecisions,
    StoreAdditions,
    export_audit_table,
    list_store_entries,
    merge_stores,
    remove_ended_audits,
)
from dpaudit.store.file import Store, StoreError, encode_block
from dpaudit.store.keeping import Storing, keep_audit, use_storing


def filled(path, places, *, identity="one", ended=None, units=4, value=1.0):
    with Store(path) as store:
        store.write(
            "INSERT INTO audits (identity, name, command, machine, began, seconds, ended) "
            'VALUES (?, \'an audit\', \'{"command": "audit"}\', \'{"cpu": "a"}\', '
            "'then', 2.0, ?)",
            [(identity, ended)],
        )
        (number,) = store.run("SELECT max(id) FROM audits")[0]
        store.write(
            "INSERT INTO stages (audit, identity, name, units, trials) "
            "VALUES (?, 's', 'drawn', ?, 8)",
            [(number, units)],
        )
        (stage,) = store.run("SELECT max(id) FROM stages")[0]
        rows = [
            (stage, place, encode_block((np.array([value, place]), np.array([7]))))
            for place in places
        ]
        store.write("INSERT INTO blocks (stage, place, data) VALUES (?, ?, ?)", rows)
        store.write("INSERT INTO facts VALUES (?, 'a fact', ?)", [(number, encode_block(1))])
    return path


def content(path):
    with Store(path) as store:
        blocks = store.run(
            "SELECT audits.identity, stages.name, place, data FROM blocks "
            "JOIN stages ON stages.id = stage JOIN audits ON audits.id = audit "
            "ORDER BY audits.identity, place"
        )
        return blocks, [(one.units, one.planned, one.ended) for one in list_store_entries(store)]


def test_shares_in_any_order_are_the_whole(tmp_path):
    whole = filled(tmp_path / "whole", range(4))
    for order in ((0, 1, 2), (2, 0, 1)):
        shares = [filled(tmp_path / f"{order}{i}", range(i, 4, 3)) for i in order]
        with Store(tmp_path / f"{order}") as into:
            others = [Store(one) for one in shares]
            assert merge_stores(into, others) == StoreAdditions(1, 4)
            assert merge_stores(into, others) == StoreAdditions(0, 0)
            for one in others:
                one.close()
        assert content(tmp_path / f"{order}") == content(whole)


def test_shares_took_as_long_as_all_of_them_together(tmp_path):
    shares = [filled(tmp_path / f"share {i}", [i]) for i in range(3)]
    with Store(tmp_path / "whole") as into:
        for share in shares:
            with Store(share) as other:
                merge_stores(into, [other])
        assert [one.seconds for one in list_store_entries(into)] == [6.0]


@pytest.mark.parametrize(("places", "seconds"), [([0, 1], 2.0), ([1, 2], 3.0), ([], 2.0)])
def test_what_is_merged_again_takes_no_time_again(tmp_path, places, seconds):
    one, other = filled(tmp_path / "one", [0, 1]), filled(tmp_path / "other", places)
    with Store(one) as into, Store(other) as given:
        for _ in range(2):
            merge_stores(into, [given])
        assert [one.seconds for one in list_store_entries(into)] == [seconds]
    with Store(tmp_path / "new") as into, Store(other) as given:
        for _ in range(2):
            merge_stores(into, [given])
        assert [one.seconds for one in list_store_entries(into)] == [2.0]


def test_different_audits_stay_apart(tmp_path):
    one, two = filled(tmp_path / "one", [0, 1]), filled(tmp_path / "two", [0], identity="two")
    with Store(one) as into, Store(two) as other:
        assert merge_stores(into, [other]) == StoreAdditions(1, 1)
        assert [(entry.units, entry.planned) for entry in list_store_entries(into)] == [
            (2, 4),
            (1, 4),
        ]


def test_a_store_is_not_merged_with_itself(tmp_path):
    path = filled(tmp_path / "one", [0])
    with Store(path) as into, Store(path) as other:
        with pytest.raises(InvalidArgument, match="merge: got"):
            merge_stores(into, [other])


def test_a_stage_of_other_units_is_refused_and_nothing_is_written(tmp_path):
    one, two = filled(tmp_path / "one", [0]), filled(tmp_path / "two", [1], units=5)
    before = content(one)
    with Store(one) as into, Store(two) as other, pytest.raises(DataError, match="other units"):
        merge_stores(into, [other])
    assert content(one) == before


def test_those_that_ended_are_forgotten(tmp_path):
    path = filled(tmp_path / "one", range(4), ended="now")
    filled(path, [0], identity="two")
    with Store(path) as store:
        assert remove_ended_audits(store) == 1
        assert [entry.units for entry in list_store_entries(store)] == [1]
        assert remove_ended_audits(store, all_of=True) == 1
        counts = [store.run(f"SELECT count(*) FROM {name}")[0][0] for name in ("blocks", "facts")]
    assert counts == [0, 0]


ROWS = [
    ("drawn", unit, part, entry, value)
    for unit in range(2)
    for part, entry, value in ((0, 0, 1.5), (0, 1, float(unit)), (1, 0, 7.0))
]


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_every_number_is_exported_whatever_the_chunks(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(catalogue, "_ROWS", chunk)
    with Store(filled(tmp_path / "one", range(2), value=1.5)) as store:
        assert export_audit_table(store, 1, tmp_path / "table.csv") == len(ROWS)
    with (tmp_path / "table.csv").open() as file:
        head, *rows = csv.reader(file)
    assert head == ["stage", "unit", "part", "entry", "value"]
    assert [(s, int(u), int(p), int(e), float(v)) for s, u, p, e, v in rows] == ROWS


@pytest.mark.parametrize("chunk", [1, 100])
def test_parquet_holds_the_same(tmp_path, monkeypatch, chunk):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install 'dpaudit[parquet]'")
    monkeypatch.setattr(catalogue, "_ROWS", chunk)
    with Store(filled(tmp_path / "one", range(2), value=1.5)) as store:
        assert export_audit_table(store, 1, tmp_path / "table.parquet") == len(ROWS)
    table = parquet.read_table(tmp_path / "table.parquet").to_pylist()
    assert [tuple(row.values()) for row in table] == ROWS


def test_nothing_kept_is_a_table_without_rows(tmp_path):
    with Store(filled(tmp_path / "one", [])) as store:
        assert export_audit_table(store, 1, tmp_path / "table.csv") == 0
    assert (tmp_path / "table.csv").read_text().strip() == "stage,unit,part,entry,value"


def test_other_names_and_places_are_refused(tmp_path):
    with Store(filled(tmp_path / "one", [0])) as store:
        with pytest.raises(InvalidArgument, match="ending in"):
            export_audit_table(store, 1, tmp_path / "table.txt")
        with pytest.raises(DataError, match="No such file"):
            export_audit_table(store, 1, tmp_path / "none" / "table.csv")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("command", "'not json'"),
        ("command", "'5'"),
        ("machine", "'[1]'"),
        ("machine", "'" + "[" * 100_000 + "'"),
        ("seconds", "'many'"),
        ("seconds", "-1e9"),
        ("seconds", "9e999"),
    ],
)
def test_what_is_said_of_an_audit_is_not_believed(tmp_path, column, value):
    with Store(filled(tmp_path / "one", [0])) as store:
        store.run(f"UPDATE audits SET {column} = {value}")
        with pytest.raises(StoreError, match="store"):
            list_store_entries(store)


def test_machines_of_all_shares_are_known(tmp_path):
    one, two = filled(tmp_path / "one", [0]), filled(tmp_path / "two", [1])
    with Store(one) as into, Store(two) as other:
        other.run("""UPDATE audits SET machine = '{"cpu": "another"}'""")
        merge_stores(into, [other])
        merge_stores(into, [other])
        names = [name for (name,) in into.run("SELECT name FROM facts WHERE name LIKE 'machine%'")]
    assert names == ['machine: {"cpu": "another"}']


@pytest.mark.parametrize("turned", [False, True])
def test_shares_that_differ_in_one_output_are_refused_and_both_are_named(tmp_path, turned):
    one, other = (
        filled(tmp_path / name, range(3), value=v) for name, v in (("a", 1.0), ("b", 2.0))
    )
    first, second = (other, one) if turned else (one, other)
    before = content(first)
    with Store(first) as into, Store(second) as given:
        with pytest.raises(StoreError, match="is not what") as error:
            merge_stores(into, [given])
        assert str(first) in str(error.value)
        assert str(second) in str(error.value)
    assert content(first) == before


def test_what_was_decided_is_merged_and_the_first_decision_stands(tmp_path):
    one, other = (filled(tmp_path / name, [place]) for name, place in (("a", 0), ("b", 1)))
    with Store(other) as store:
        store.write("INSERT INTO facts VALUES (1, 'another fact', ?)", [(encode_block(5),)])
        store.run("UPDATE facts SET data = ? WHERE name = 'a fact'", (encode_block(9),))
    with Store(one) as into, Store(other) as given:
        merged = merge_stores(into, [given])
        facts = dict(into.run("SELECT name, data FROM facts"))
        again = merge_stores(into, [given])
    assert facts == {"a fact": encode_block(1), "another fact": encode_block(5)}
    assert merged.others == again.others == (OtherDecisions(other, "an audit", 1),)


def test_what_was_measured_of_two_machines_is_no_other_decision(tmp_path):
    stores = []
    for name, seconds in (("a", 0.25), ("b", 0.5)):
        stores.append(filled(tmp_path / name, [0]))
        with use_storing(Storing(stores[-1])), keep_audit("one") as ledger:
            assert ledger.fact("pace", partial(float, seconds), 7, measures=True) == seconds
            assert ledger.fact("pace", lambda: 9.0, 7, measures=True) == seconds
            assert ledger.fact("layout", lambda: 3, 7) == 3
    with Store(stores[0]) as into, Store(stores[1]) as given:
        assert merge_stores(into, [given]).others == ()
