"""Claims of a mechanism of one's own on the command line and in a file of audits."""

import json

import pytest

from dpaudit.cli.main import main

MODULE = """
def noisy_sum(data, trials, rng):
    return data.sum() + rng.normal(size=trials)
"""
PAIR = ("--dataset", "d.csv", "--neighbour", "e.csv", "--relation", "replace-record")
QUICK = ("--trials", "600", "--in-process", "--workers", "1", "--json", "--quiet")
FILE = """
[audit]
mechanism = "own_{name}:noisy_sum"
dataset = [0.0, 1.0]
neighbour = [1.0, 1.0]
relation = "replace-record"
{claim}
"""


@pytest.fixture
def own(tmp_path, monkeypatch, request):
    """Return the name of a module with a mechanism, in the folder that is worked in."""
    name = f"own_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / "d.csv").write_text("0\n1\n")
    (tmp_path / "e.csv").write_text("1\n1\n")
    (tmp_path / "curve.csv").write_text("0.5,0.3\n1.0,0.2\n")
    monkeypatch.chdir(tmp_path)
    return name


def run(capsys, *words):
    """Return the exit status and what was printed."""
    with pytest.raises(SystemExit) as ended:
        main(["audit", *words])
    return ended.value.code, capsys.readouterr()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("options", "symbol", "value"),
    [
        (("--mu", "0.2"), "μ", 0.2),
        (("--rho", "0.01"), "\N{GREEK SMALL LETTER RHO}", 0.01),
        (("--renyi", "2", "0.05"), "D", 0.05),
    ],
    ids=["mu", "rho", "renyi"],
)
def test_a_claim_of_another_number_is_refuted_in_it_and_repeated(
    own, capsys, options, symbol, value
):
    status, printed = run(capsys, f"{own}:noisy_sum", *PAIR, *options, *QUICK)
    result = json.loads(printed.out)["results"][0]
    assert status in (1, 2)  # what runs in this process alone is withheld where it would refute
    assert (result["quantity"], result["claimed"]["value"]) == (symbol, value)
    assert f"{options[0]} {float(options[1])!r}" in result["rerun"]


def test_a_curve_is_read_from_a_file(own, capsys):
    status, printed = run(capsys, f"{own}:noisy_sum", *PAIR, "--curve", "curve.csv", *QUICK)
    claimed = json.loads(printed.out)["results"][0]["claimed"]
    assert status == 0
    assert claimed["delta"] >= 0.2


def test_a_file_of_audits_states_a_claim_and_a_release(own, capsys, tmp_path):
    claim = 'rho = 5.0\n[audit.release]\nkind = "gaussian"\nnoise_scale = 1.0'
    text = FILE.format(name=own.removeprefix("own_"), claim=claim)
    (tmp_path / "audit.toml").write_text(text)
    status, printed = run(capsys, "audit.toml", *QUICK)
    result = json.loads(printed.out)["results"][0]
    assert status == 0
    assert result["proved"] == {
        **dict.fromkeys(("epsilon", "delta", "sensitivity")),
        "value": 0.5,
        "source": "the release as declared",
        "declared": True,
    }


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--mu", "1", "--epsilon", "1"), "epsilon"),
        (("--mu", "1", "--rho", "1"), "rho"),
        (("--renyi", "1", "1"), "order"),
        (("--mu", "-1"), "mu"),
        ((), "epsilon"),
        (("--mu", "1", "--until-refuted"), "until_refuted"),
        (("--mu", "1", "--estimator", "exact-loss"), "estimator"),
    ],
    ids=str,
)
def test_what_is_no_claim_is_one_line_that_names_it(own, capsys, options, named):
    status, printed = run(capsys, f"{own}:noisy_sum", *PAIR, *options, *QUICK)
    assert status == 2
    assert f"{named}: " in printed.err + printed.out


def test_a_table_shows_the_number_and_the_release_of_a_claim(own, capsys, tmp_path):
    claim = 'mu = 3.0\n[audit.release]\nkind = "gaussian"\nnoise_scale = 1.0'
    text = FILE.format(name=own.removeprefix("own_"), claim=claim)
    (tmp_path / "audit.toml").write_text(text)
    options = [word for word in QUICK if word not in ("--json", "--quiet")]
    status, printed = run(capsys, "audit.toml", *options, "--out", "report")
    assert status == 0
    assert "μ = 3" in printed.out
    for part in ("report.md", "report.html"):
        page = (tmp_path / "report" / part).read_text()
        assert "for the release as declared" in page
