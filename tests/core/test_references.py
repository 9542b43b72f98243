"""Objects by name, and the entry points that are installed."""

from dpaudit._references import find_entry_points

GROUP = "dpaudit.claims"


def _install(folder, name):
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {name}:CARD\n")


def test_what_is_installed_later_is_seen(tmp_path, monkeypatch):
    folder = tmp_path / "place"
    before = set(find_entry_points(GROUP))
    _install(folder, "theirs")
    assert set(find_entry_points(GROUP)) == before
    monkeypatch.syspath_prepend(str(folder))
    assert set(find_entry_points(GROUP)) == before | {"theirs"}
    _install(folder, "another")
    assert set(find_entry_points(GROUP)) == before | {"theirs", "another"}
    monkeypatch.undo()
    assert set(find_entry_points(GROUP)) == before


def test_nothing_is_parsed_twice_while_nothing_changes():
    assert find_entry_points(GROUP) is find_entry_points(GROUP)
