"""Certificates about a program, which their reader names by its command line."""

import json

import pytest

from dpaudit.cli.main import main

NOISER = """
BEGIN { srand(seed); getline count < ARGV[1]
  u = rand() - 0.5; sign = u < 0 ? -1 : 1
  print count - 0.3 * sign * log(1 - 2 * sign * u) }
"""
COMMAND = "awk -v seed={seed} -f noiser.awk {data}"
PAIR = ("--dataset", "a.csv", "--neighbour", "b.csv", "--relation", "replace-record")


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code or 0


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "noiser.awk").write_text(NOISER)
    (tmp_path / "a.csv").write_text("3\n")
    (tmp_path / "b.csv").write_text("4\n")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("--command", "cat {data}", "--mechanism", "m:f"),
        ("--protocol", "once"),
        ("--dataset", "a.csv"),
    ],
)
@pytest.mark.parametrize("judge", ["verify", "sheet"])
def test_options_that_need_one_another(judge, words, files, capsys):
    assert run(judge, "gone.json", *words) == 2
    assert "nothing " in capsys.readouterr().err


@pytest.mark.slow
def test_a_refutation_is_drawn_again_from_the_program_that_was_audited(files, capsys):
    audit = ("audit", "--command", COMMAND, *PAIR, "--epsilon", "1", "--trials", "200")
    assert run(*audit, "--out", "report", "--no-store", "--quiet") == 1
    named = ("report/certificate.json", "--command", COMMAND, *PAIR)
    capsys.readouterr()
    assert run("verify", *named, "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["verified"]
    assert run("sheet", "report", *named[1:]) == 0
    assert "Its certificate was checked again for this sheet and stands." in capsys.readouterr().out
    (files / "noiser.awk").write_text(NOISER.replace("0.3", "0.31"))
    assert run("verify", *named) == 1
    assert "is not that of the certificate" in capsys.readouterr().out
