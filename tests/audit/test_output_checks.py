"""Files of outputs that accuse a mechanism of what it did not do: none of them refutes."""

import json
from pathlib import Path

import numpy as np
import pytest

import dpaudit
from dpaudit.auditing.samples.output_checks import checks_of
from dpaudit.auditing.samples.output_pairs import OutputPair, read_outputs
from dpaudit.cli.main import main
from dpaudit.errors import DataError, DpauditError
from dpaudit.verification import Reader

RNG = np.random.default_rng(11)


def write(path, rows, head=""):
    rows = np.asarray(rows)
    rows = rows[:, None] if rows.ndim == 1 else rows
    body = "\n".join(";".join(map(str, row)) for row in rows)
    path.write_text(f"{head}{body}\n")
    return str(path)


def audited(tmp_path, one, other, head="", **given):
    files = write(tmp_path / "a.csv", one, head), write(tmp_path / "b.csv", other, head)
    return dpaudit.audit_outputs(*files, **{"epsilon": 0.1, **given})


def same(count=400):
    return RNG.laplace(size=count), RNG.laplace(size=count)


def blocks(times):
    return np.tile(RNG.laplace(0, 1, 40), times), np.tile(RNG.laplace(0, 1, 40), times)


def chain(count):
    noise = RNG.normal(size=count)
    for n in range(1, count):
        noise[n] += 0.9 * noise[n - 1]
    return noise


CLOCK = np.cumsum(RNG.exponential(size=400))
CANDIDATES = np.sort(RNG.normal(size=30))
WITHHELD = {
    "sorted": lambda: tuple(map(np.sort, same())),
    "sorted downwards": lambda: (np.sort(RNG.laplace(size=400))[::-1], RNG.laplace(size=400)),
    "a clock": lambda: (CLOCK, CLOCK + 1e6),
    "a clock beside outputs": lambda: (
        np.column_stack([CLOCK, RNG.laplace(size=400)]),
        np.column_stack([CLOCK + 1e6, RNG.laplace(size=400)]),
    ),
    "numbers of batches": lambda: (
        np.column_stack([np.arange(400) // 20, RNG.laplace(size=400)]),
        np.column_stack([20 + np.arange(400) // 20, RNG.laplace(size=400)]),
    ),
    "a label beside outputs": lambda: (
        np.column_stack([np.zeros(400), RNG.laplace(size=400)]),
        np.column_stack([np.ones(300), RNG.laplace(size=300)]),
    ),
    "shuffled numbers of batches": lambda: (
        np.column_stack([RNG.integers(7, size=400), RNG.laplace(size=400)]),
        np.column_stack([7 + RNG.integers(7, size=300), RNG.laplace(size=300)]),
    ),
    "a block ten times": lambda: blocks(10),
    "a block twice": lambda: tuple(np.tile(one, 2) for one in same()),
    "rows drawn from few": lambda: (
        RNG.choice(RNG.laplace(size=40), 400),
        RNG.choice(RNG.laplace(size=40), 400),
    ),
    "noise that was kept": lambda: (np.full(400, RNG.laplace()), np.full(400, RNG.laplace())),
    "one file twice": lambda: (lambda x: (x, x.copy()))(RNG.laplace(size=400)),
    "one file in another order": lambda: (lambda x: (x, RNG.permutation(x)))(RNG.laplace(size=400)),
    "noise in common": lambda: (lambda x: (x, x + 1))(RNG.laplace(size=400)),
    "a chain": lambda: (chain(400), chain(400)),
    "a drift": lambda: tuple(one + np.arange(400) / 100 for one in same()),
}


def failed(tmp_path, one, other):
    files = write(tmp_path / "a.csv", one), write(tmp_path / "b.csv", other)
    return [check for check in checks_of(read_outputs(list(map(Path, files)))) if not check.passed]


@pytest.mark.parametrize("name", WITHHELD)
def test_rows_that_are_no_independent_draws_fail_a_check(name, tmp_path):
    assert failed(tmp_path, *WITHHELD[name]())


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHHELD)
def test_what_fails_a_check_is_withheld_with_the_reason(name, tmp_path):
    result = audited(tmp_path, *WITHHELD[name]())
    assert result.verdict == "withheld"
    assert result.measured.lower == 0
    first = next(one for one in result.contract if not one.passed)
    assert first.statement in result.reason


HONEST = {
    "large integers": lambda: tuple(np.round(1e6 * side) for side in same()),
    "uniform": lambda: (RNG.random(400), RNG.random(300)),
    "laplace": same,
    "rounded": lambda: tuple(np.round(one, 1) for one in same()),
    "integers": lambda: (RNG.geometric(0.3, 400), RNG.geometric(0.3, 300)),
    "guesses": lambda: (RNG.integers(2, size=400), RNG.integers(2, size=300)),
    "sorted guesses": lambda: (np.repeat([1, 0], [200, 200]), np.repeat([1, 0], [190, 210])),
    "a constant that both have": lambda: (np.zeros(400), 1.0 * (RNG.random(400) < 0.01)),
    "clamped": lambda: tuple(np.clip(one, -0.5, 0.5) for one in same()),
    "candidates": lambda: (RNG.choice(CANDIDATES, 400), RNG.choice(CANDIDATES, 400)),
    "vectors": lambda: (RNG.normal(size=(400, 5)), RNG.normal(size=(300, 5))),
    "one hot": lambda: (np.eye(4)[RNG.integers(4, size=400)], np.eye(4)[RNG.integers(4, size=300)]),
}


@pytest.mark.parametrize("name", HONEST)
def test_independent_draws_fail_none(name, tmp_path):
    assert not failed(tmp_path, *HONEST[name]())


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_independent_draws_are_not_withheld(name, tmp_path):
    result = audited(tmp_path, *HONEST[name]())
    assert result.verdict != "withheld", result.reason
    assert result.verdict == "not refuted" or name == "a constant that both have"


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_checks_err_as_rarely_as_they_say(name):
    wrong = 0
    for _ in range(1000):
        one, other = (np.asarray(side, dtype=float) for side in HONEST[name]())
        one, other = (side.reshape(len(side), -1) for side in (one, other))
        names = tuple(map(str, range(one.shape[1])))
        wrong += not all(c.passed for c in checks_of(OutputPair(one, other, names, (), (), ())))
    # Ten checks at 1e-4: one or two of 1,000 by chance, and six once in a thousand such tests.
    assert wrong <= 6


@pytest.mark.slow
def test_a_broken_mechanism_falls_and_a_right_one_does_not(tmp_path):
    on, off = RNG.laplace(1, 1, 4000), RNG.laplace(0, 1, 3000)
    assert audited(tmp_path, on, off, epsilon=0.5).verdict == "refuted"
    assert audited(tmp_path, on, off, epsilon=1.0).verdict == "not refuted"
    wide = RNG.laplace(0, 4, 4000), RNG.laplace(0, 1, 3000)  # no threshold of one side
    assert audited(tmp_path, *wide, epsilon=0.5).verdict == "refuted"


@pytest.mark.slow
def test_true_claims_stand_at_their_confidence(tmp_path):
    wrong = sum(
        audited(tmp_path, RNG.laplace(1, 1, 300), RNG.laplace(0, 1, 200)).measured.lower > 1
        for _ in range(200)
    )
    assert wrong <= 18  # 5% of 200, and once in a thousand tests more than 20


def test_counts_of_an_attack_as_two_files_of_guesses(tmp_path):
    inside, outside = np.repeat([1, 0], [471, 29]), np.repeat([1, 0], [23, 477])
    result = audited(tmp_path, inside, outside, epsilon=2.0, delta=1e-5, head="guess\n")
    assert result.verdict == "refuted"
    assert round(result.measured.lower, 2) == 2.59
    assert any("sorted" in note for note in result.notes)


def run(*words):
    try:
        main(list(words))
    except SystemExit as ended:
        return ended.code
    return 0


@pytest.mark.slow
def test_the_command_its_report_its_certificate_and_its_repetition(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv", RNG.laplace(1, 0.4, 800))
    write(tmp_path / "b.csv", RNG.laplace(0, 0.4, 700))
    words = ["audit", "--outputs", "a.csv", "b.csv", "--epsilon", "1"]
    assert run(*words, "--out", "report") == 1
    assert "800 outputs of 1 number, no header" in capsys.readouterr().err
    report = json.loads((tmp_path / "report" / "report.json").read_text())["results"][0]
    assert report["verdict"] == "refuted"
    assert run(*report["rerun"].split()[1:], "--json") == 1
    again = json.loads(capsys.readouterr().out)["results"][0]
    assert again["measured"]["lower"] == report["measured"]["lower"]
    certificate = str(tmp_path / "report" / "certificate.json")
    (bare,) = dpaudit.verify(certificate, Reader())
    assert bare.verified
    assert not bare.refutes_as_published
    (full,) = dpaudit.verify(certificate, Reader(outputs=("a.csv", "b.csv")))
    assert full.refutes_as_published
    (turned,) = dpaudit.verify(certificate, Reader(outputs=("b.csv", "a.csv")))
    assert not turned.verified


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    on, off = np.repeat([1, 0], [471, 29]), np.repeat([1, 0], [23, 477])
    result = audited(folder, RNG.permutation(on), RNG.permutation(off), epsilon=1.0)
    return json.loads(result.save(folder / "report").certificate.read_text())


def verdict_of(content, tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(content))
    (found,) = dpaudit.verify(path, Reader())
    return found


@pytest.mark.parametrize(("name", "value"), [("seed", 3), ("ignore", ["x"]), ("confidence", 0.5)])
def test_a_choice_of_the_file_is_a_reservation(name, value, certificate, tmp_path):
    content = {**certificate, "instance": {**certificate["instance"], name: value}}
    found = verdict_of(content, tmp_path)
    assert any("is the file's choice" in one for one in found.reservations)
    assert not found.refutes_as_published


@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_a_certificate_without_its_claim_is_refused(name, certificate, tmp_path):
    rest = {other: one for other, one in certificate["parameters"].items() if other != name}
    for file, value in (("a.csv", 1), ("b.csv", 0)):
        (tmp_path / file).write_text(f"{value}\n{1 - value}\n" * 500)
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps({**certificate, "parameters": rest}))
    files = Reader(outputs=(str(tmp_path / "a.csv"), str(tmp_path / "b.csv")))
    with pytest.raises(DataError, match=rf"parameters\.{name}: got None"):
        dpaudit.verify(path, files)


def test_moved_counts_fail(certificate, tmp_path):
    assert verdict_of(certificate, tmp_path).verified
    rows = [[471, 500, 230, 500]] * 2
    content = {**certificate, "instance": {**certificate["instance"], "rows": rows}}
    assert not verdict_of(content, tmp_path).verified


@pytest.mark.slow
def test_a_file_of_audits_names_files_of_outputs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "a.csv", RNG.laplace(1, 0.4, 800))
    write(tmp_path / "in" / "b.csv", RNG.laplace(0, 0.4, 700))
    text = '[audit]\noutputs = ["a.csv", "b.csv"]\nepsilon = 1.0\nname = "mine"\n'
    (tmp_path / "in" / "audit.toml").write_text(text)
    assert run("audit", "in/audit.toml", "--json") == 1
    assert json.loads(capsys.readouterr().out)["results"][0]["claim"] == "mine"
    assert run("audit", "in/audit.toml", "--trials", "50") == 2
    assert "trials: got 50, expected nothing of outputs" in capsys.readouterr().err


def test_rows_that_are_copied_and_shuffled_on_a_grid_withhold_the_verdict(tmp_path):
    rng = np.random.default_rng(5)
    sides = [np.round(rng.laplace(at, 1, 60), 1) for at in (0.0, 1.0)]
    copied = [rng.permutation(np.repeat(side, 10)) for side in sides]
    assert audited(tmp_path, *copied, epsilon=1.0).verdict == "withheld"
    alone = [np.round(rng.laplace(at, 1, 600), 1) for at in (0.0, 5.0)]
    assert audited(tmp_path, *alone, epsilon=1.0).verdict == "refuted"


@pytest.mark.parametrize("kinds", [30, 100])
def test_shuffled_labels_of_many_kinds_refute_nothing(kinds, tmp_path):
    rng = np.random.default_rng(5)
    files = [
        np.column_stack([rng.integers(at, at + kinds, 600), rng.laplace(size=600)])
        for at in (0, kinds)
    ]
    assert audited(tmp_path, *files).verdict == "withheld"
    assert audited(tmp_path, *files, head="machine;x\n").verdict == "not refuted"


def test_texts_that_programs_spell_in_two_ways_are_an_error(tmp_path):
    rng = np.random.default_rng(5)
    sides = rng.choice(["True", "False"], 100), rng.choice(["true", "false"], 100)
    with pytest.raises(DataError, match="spells otherwise"):
        audited(tmp_path, *sides)


def test_a_column_that_changed_its_place_and_stands_beside_another_is_an_error(tmp_path):
    rows = np.column_stack([RNG.laplace(size=100), RNG.laplace(50, 1, 100)])
    files = write(tmp_path / "a.csv", rows, "x;y\n"), write(tmp_path / "b.csv", rows, "y;z\n")
    with pytest.raises(DataError, match="as in"):
        dpaudit.audit_outputs(*files, epsilon=0.1)


def test_commas_between_thousands_are_an_error(tmp_path):
    rng = np.random.default_rng(5)
    rows = [f'"{one:,.0f}"' for one in rng.laplace(0, 2000, 100)]
    with pytest.raises(DataError, match="between thousands"):
        audited(tmp_path, rows, rows, head="x\n")
    fractions = [f"{one:.3f}".replace(".", ",") for one in rng.laplace(0, 200, 100)]
    others = [f"{one:.3f}".replace(".", ",") for one in rng.laplace(0, 200, 100)]
    assert audited(tmp_path, fractions, others, head="x\n").verdict == "not refuted"


def test_huge_outputs_are_counted(tmp_path):
    sides = [RNG.choice([1e308, -1e308, 1.7e308, 1.0], 100) for _ in range(2)]
    assert audited(tmp_path, *sides).verdict == "not refuted"


def test_the_only_column_counts_whatever_its_name_is(tmp_path):
    sides = RNG.laplace(size=100), RNG.laplace(size=100)
    assert audited(tmp_path, *sides, head="draw\n").verdict == "not refuted"


@pytest.mark.parametrize("kind", ["attack-table", "canaries", "statistical", "computed"])
def test_a_certificate_of_outputs_is_of_no_other_kind(kind, certificate, tmp_path):
    """Files that the reader names are counted again, or the certificate is refused."""
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps({**certificate, "kind": kind}))
    for outputs in ((), ("a.csv", "b.csv")):
        with pytest.raises(DpauditError):
            dpaudit.verify(path, Reader(outputs=outputs))
