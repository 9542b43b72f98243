"""Certificates about a service, which their reader names by its address."""

import json
import shlex

import pytest

from dpaudit.cli.main import main
from tests.services.servers import Laplace, serving

BROKEN, REPAIRED = 0.1, 1.0


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code or 0


def command_in(said):
    """Return the words of the command that an audit prints, after dpaudit."""
    line = next(one for one in said.splitlines() if one.startswith("Certificate: "))
    return shlex.split(line.partition("dpaudit ")[2])


@pytest.mark.slow
def test_a_refutation_stands_as_long_as_the_service_answers_as_it_did(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    rule = Laplace(BROKEN)
    with serving(rule) as server:
        address = ("--url", f"{server.url}/count?of={{dataset}}&nonce={{fresh}}")
        named = (*address, "--dataset", "with", "--neighbour", "without")
        audit = ("audit", *named, "--relation", "replace-record", "--epsilon", "1")
        assert run(*audit, "--trials", "100", "--out", "report", "--no-store") == 1
        verify = command_in(capsys.readouterr().out)
        assert run(*verify, "--json") == 0
        (checked,) = json.loads(capsys.readouterr().out)
        assert checked["verified"]
        assert "is replaced, as the caller declares" in checked["summary"]
        sheet = ("sheet", "report", *verify[2:])
        assert run(*sheet) == 0
        assert "certificate was checked again for this sheet" in capsys.readouterr().out
        rule.scale = REPAIRED
        assert run(*verify, "--json") == 1
        assert not json.loads(capsys.readouterr().out)[0]["verified"]
