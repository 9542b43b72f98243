"""Objects by name, and the entry points that are installed."""

from dpaudit._references import installed

GROUP = "dpaudit.claims"


def _install(folder, name):
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {name}:CARD\n")


def test_what_is_installed_later_is_seen(tmp_path, monkeypatch):
    folder = tmp_path / "place"
    before = set(installed(GROUP))
    _install(folder, "theirs")
    assert set(installed(GROUP)) == before
    monkeypatch.syspath_prepend(str(folder))
    assert set(installed(GROUP)) == before | {"theirs"}
    _install(folder, "another")
    assert set(installed(GROUP)) == before | {"theirs", "another"}
    monkeypatch.undo()
    assert set(installed(GROUP)) == before


def test_nothing_is_parsed_twice_while_nothing_changes():
    assert installed(GROUP) is installed(GROUP)
