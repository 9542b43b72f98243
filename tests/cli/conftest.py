"""Runs the command line in this process and hands back what it did."""

from dataclasses import dataclass

import pytest

from dpaudit.cli.main import main


@dataclass
class Ran:
    status: int
    out: str
    err: str


@pytest.fixture
def dpaudit(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        seen = capsys.readouterr()
        return Ran(ended.value.code, seen.out, seen.err)

    return run
