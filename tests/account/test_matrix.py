"""Matrix mechanisms by name: sensitivities against every pattern, every sign and 50 digits."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from typer.testing import CliRunner

import dpaudit
import dpaudit.accounting.matrices.sensitivity as sensitivities
from dpaudit.accounting.calibrate import calibrate
from dpaudit.accounting.events import GaussianRelease, PoissonSubsampledGaussian
from dpaudit.accounting.matrices.participation import Participation
from dpaudit.accounting.matrices.sensitivity import best_signs, compute_squared_sensitivity, root_up
from dpaudit.accounting.matrices.strategies import Dense, Toeplitz, Tree
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.accounts.account import account
from dpaudit.accounts.correlated import CORRELATED, CorrelatedParameters, distance
from dpaudit.accounts.matrix import (
    MATRIX,
    MatrixParameters,
    is_attained,
    sensitivity,
    strategy_of,
)
from dpaudit.accounts.sharing import TREE, compute_event_totals
from dpaudit.cli.main import app
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import GaussianDP

# Oracles: strategies by what they do, patterns by their definition, the largest over all of them.


def prefix(n, momentum=0.0, decay=1.0):
    """The model after every round, each of a gradient 1 in one of them."""
    columns = []
    for start in range(n):
        model, speed, path = 0.0, 0.0, []
        for t in range(n):
            speed = momentum * speed + (t == start)
            model = decay * model + speed
            path.append(model)
        columns.append(path)
    return np.array(columns).T


def root(n):
    rows = [[math.comb(2 * (i - j), i - j) / 4 ** (i - j) if i >= j else 0 for j in range(n)]
            for i in range(n)]  # fmt: skip
    return np.array(rows)


def cut(matrix, band):
    return np.tril(np.triu(matrix, 1 - band))


def tree(n, *, completion):
    rows, size = [], 1
    while size < 2 * n:
        for start in range(0, n, size):
            if completion or start + size <= n:
                rows.append([start <= j < start + size for j in range(n)])
        size *= 2
    return np.array(rows, dtype=float)


def lambda_cgd(n, share):
    return np.linalg.inv(np.eye(n) - share * np.eye(n, k=-1))


def is_pattern(rounds, kind, separation, most):
    if kind == "single":
        return len(rounds) == 1
    gaps = np.diff(rounds)
    if kind == "cyclic":
        return bool(np.all(gaps % separation == 0))
    return bool(np.all(gaps >= separation)) and len(rounds) <= (most or len(rounds))


def patterns(n, kind, separation, most):
    sets = itertools.chain.from_iterable(
        itertools.combinations(range(n), size) for size in range(1, n + 1)
    )
    return [rounds for rounds in sets if is_pattern(rounds, kind, separation, most)]


def by_signs(matrix, *participation):
    """The largest movement over all patterns and signs: what rows of one number do."""
    n, found = matrix.shape[1], 0.0
    for rounds in patterns(n, *participation):
        for signs in itertools.product((1, -1), repeat=len(rounds) - 1):
            moved = matrix[:, rounds] @ np.array((1, *signs))
            found = max(found, float(moved @ moved))
    return math.sqrt(found)


def by_vectors(matrix, rng, *participation):
    """A large movement over all patterns and rows of norm 1 in five dimensions, by ascent."""
    found = 0.0
    for rounds in patterns(matrix.shape[1], *participation):
        gram = matrix[:, rounds].T @ matrix[:, rounds]
        rows = rng.normal(size=(len(rounds), 5))
        for _ in range(60):
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            last, rows = rows, gram @ rows + 1e-12
        found = max(found, float(np.sum(gram * (last @ last.T))))
    return math.sqrt(found)


WAYS = [
    ("single", 1, None),
    ("cyclic", 2, None),
    ("cyclic", 3, None),
    ("min-separation", 1, 2),
    ("min-separation", 2, None),
    ("min-separation", 2, 2),
    ("min-separation", 3, 3),
]
NAMED = [
    ({"strategy": "identity"}, lambda n: np.eye(n)),
    ({"strategy": "prefix"}, prefix),
    ({"strategy": "prefix", "momentum": 0.5, "decay": 0.75}, lambda n: prefix(n, 0.5, 0.75)),
    ({"strategy": "square-root"}, root),
    ({"strategy": "banded", "band": 2}, lambda n: cut(root(n), 2)),
    ({"strategy": "banded", "band": 3}, lambda n: cut(root(n), 3)),
    ({"strategy": "lambda-cgd", "cancellation": 0.75}, lambda n: lambda_cgd(n, 0.75)),
    ({"strategy": "lambda-cgd", "cancellation": 1.0}, lambda n: lambda_cgd(n, 1.0)),
    ({"strategy": "tree"}, lambda n: tree(n, completion=True)),
    ({"strategy": "tree", "completion": False}, lambda n: tree(n, completion=False)),
    (
        {"strategy": "toeplitz", "coefficients": (1.0, 3.0, 0.0, 2.0)},
        lambda n: cut(sum(c * np.eye(n, k=-k) for k, c in enumerate((1, 3, 0, 2))), 4),
    ),
]


def given(way, **parameters):
    kind, separation, most = way
    return MatrixParameters(
        participation=kind, separation=separation, participations=most, **parameters
    )


@pytest.mark.parametrize(("parameters", "make"), NAMED, ids=[str(one) for one, _ in NAMED])
def test_a_named_strategy_moves_as_far_as_the_worst_pattern(parameters, make):
    for n, way in itertools.product((1, 2, 5, 7, 8), WAYS):
        found = sensitivity(given(way, rounds=n, **parameters))
        worst = by_signs(make(n), *way)
        assert found.lower <= worst * (1 + 1e-14), (n, way)
        assert found.upper >= worst * (1 - 1e-14), (n, way)
        assert found.upper == pytest.approx(found.lower, rel=1e-13), (n, way)


def dense(matrix):
    rows = [[fmpq(int(entry)) for entry in row] for row in matrix.tolist()]
    return Dense(matrix.shape[1], fmpq_mat(rows))


def random_matrix(rng, n):
    low = int(rng.integers(-3, 1))
    matrix = rng.integers(low, 4, size=(int(rng.integers(1, 8)), n))
    return np.tril(matrix) if rng.random() < 0.5 else matrix


@pytest.mark.parametrize("exponent", [0, -500, -535, -540, -560, -1000])
def test_coefficients_whose_squares_doubles_have_no_room_for_are_enclosed(exponent):
    """Rising ones, in patterns that are many: products of doubles would be 0."""
    c = [fmpq(one) * fmpq(2) ** exponent for one in (8, 9, 9, 6, 4, 3)]
    strategy, apart = Toeplitz(40, c), Participation(kind="min-separation", separation=3)
    found = compute_squared_sensitivity(strategy, apart)
    assert 0 < found.lower <= found.upper
    for gap, known in enumerate(strategy.magnitudes()[0]):
        assert Fraction(known) >= Fraction(str(strategy.inner(0, gap)))


def test_coefficients_whose_squares_overflow_are_refused():
    coefficients = tuple(1e155 * one for one in (1.0, 1.2, 1.1, 0.5))
    way = ("min-separation", 3, None)
    with pytest.raises(InvalidArgument, match=r"^strategy: .*squares"):
        sensitivity(given(way, strategy="toeplitz", coefficients=coefficients, rounds=60))


@pytest.mark.parametrize("few", [5_000, 0], ids=["all-patterns", "enclosed"])
def test_any_matrix_is_enclosed(few, monkeypatch):
    """Signs attain the lower end at least, and no rows of any length go above the upper one."""
    monkeypatch.setattr(sensitivities, "_MOST_PATTERNS", few)
    rng = np.random.default_rng(1)
    for _ in range(40):
        matrix, way = random_matrix(rng, 6), WAYS[int(rng.integers(len(WAYS)))]
        kind, separation, most = way
        found = compute_squared_sensitivity(
            dense(matrix), Participation(kind=kind, separation=separation, most=most)
        )
        lower, upper = (math.sqrt(float(end)) for end in (found.lower, found.upper))
        worst = by_signs(matrix, *way)
        assert lower <= worst * (1 + 1e-12)
        assert max(worst, by_vectors(matrix, rng, *way)) <= upper * (1 + 1e-12)
        moved = matrix[:, found.pattern]
        assert is_pattern(found.pattern, *way)
        assert by_signs(moved, "min-separation", 1, None) >= lower * (1 - 1e-12)
        if few and (matrix >= 0).all():
            assert lower == pytest.approx(worst) == pytest.approx(upper)


def test_signed_toeplitz_strategies_are_enclosed():
    rng = np.random.default_rng(2)
    for _ in range(25):
        c, way = rng.integers(-3, 4, size=6), WAYS[int(rng.integers(len(WAYS)))]
        kind, separation, most = way
        found = compute_squared_sensitivity(
            Toeplitz(6, [fmpq(int(one)) for one in c]),
            Participation(kind=kind, separation=separation, most=most),
        )
        matrix = sum(one * np.eye(6, k=-k) for k, one in enumerate(c))
        worst = by_signs(matrix, *way)
        assert float(found.lower) <= worst**2 * (1 + 1e-12)
        assert max(worst, by_vectors(matrix, rng, *way)) ** 2 <= float(found.upper) * (1 + 1e-12)


def test_what_is_found_step_by_step_is_the_heaviest_pattern():
    rng = np.random.default_rng(3)
    for separation, most in itertools.product((1, 2, 4), (1, 2, 3, 9)):
        apart = Participation(kind="min-separation", separation=separation)
        weights = rng.integers(0, 9, size=(3, 9)).astype(float)
        sums = apart.largest_sums(weights, most)
        for row, largest in zip(weights, sums, strict=True):
            every = patterns(9, "min-separation", separation, most)
            assert largest == max(row[list(one)].sum() for one in every)
            value, pattern = apart.heaviest(row.tolist(), most)
            assert value == largest == row[list(pattern)].sum()
            assert is_pattern(pattern, "min-separation", separation, most)


def test_rows_in_a_plane_go_above_all_signs():
    """Three rows at 120 degrees: no sign does that, so the two ends differ, and say so."""
    rows = ((1.0, -1.0, 0.0), (1.0, 0.0, -1.0), (0.0, 1.0, -1.0))
    matrix, way = np.array(rows), ("min-separation", 1, None)
    found = sensitivity(given(way, strategy="matrix", matrix=rows))
    plane = by_vectors(matrix, np.random.default_rng(0), *way)
    assert found.lower == pytest.approx(by_signs(matrix, *way))
    assert found.lower < 0.99 * plane < plane <= found.upper
    answer = account("matrix", 1e-5, strategy="matrix", matrix=rows, participation=way[0])
    assert all(one.lower is None for one in answer.answers)
    assert {one.kind for one in answer.answers} == {"upper bound", "estimate"}
    assert f"from {found.lower:.7g}"[:10] in answer.words[0]


def test_an_upper_end_is_none_in_a_group_either(tmp_path):
    path = tmp_path / "groups.toml"
    path.write_text(
        '[[group]]\n[[group.release]]\nkind = "matrix"\nstrategy = "matrix"\n'
        'matrix = [[1, -1, 0], [1, 0, -1], [0, 1, -1]]\nparticipation = "min-separation"\n'
    )
    assert all(one.lower is None for one in account(str(path)).answers)
    path.write_text('[[group]]\n[[group.release]]\nkind = "matrix"\n')
    assert any(one.lower is not None for one in account(str(path)).answers)


def test_signs_follow_every_component():
    gram = [[2, 0, -1, 0], [0, 2, 0, -1], [-1, 0, 2, 0], [0, -1, 0, 2]]
    signs = best_signs(gram)
    assert sum(signs[i] * signs[j] * gram[i][j] for i in range(4) for j in range(4)) == 12


def test_no_other_sign_is_better_by_itself():
    rng = np.random.default_rng(8)
    for _ in range(30):
        rows = rng.normal(size=(4, 6))
        gram = rows.T @ rows
        signs = np.array(best_signs(gram.tolist()))
        for one in range(6):
            turned = signs * np.where(np.arange(6) == one, -1, 1)
            assert turned @ gram @ turned <= signs @ gram @ signs + 1e-12


# 50 digits


@pytest.mark.parametrize("read", [str, repr], ids=["written", "double"])
def test_no_number_is_below_fifty_digits(read):
    """Neither of the doubles nor of what they stand for; and none is far above."""
    rng = np.random.default_rng(4)
    for n in (3, 50, 200):
        share = float(rng.choice([0.9, 0.3, rng.random()]))
        with mpmath.workdps(50):
            base = mpmath.mpf(share) if read is repr else mpmath.mpf(str(share))
            powers = mpmath.sqrt(mpmath.fsum(base ** (2 * k) for k in range(n)))
            roots = mpmath.sqrt(
                mpmath.fsum((mpmath.binomial(2 * k, k) / 4**k) ** 2 for k in range(n))
            )
            for parameters, exact in (
                ({"strategy": "lambda-cgd", "cancellation": share}, powers),
                ({"strategy": "square-root"}, roots),
            ):
                found = sensitivity(MatrixParameters(rounds=n, **parameters))
                assert mpmath.mpf(found.lower) <= exact <= mpmath.mpf(found.upper)
                assert found.width <= 1e-15 * found.upper


def test_the_square_root_of_64_rounds_by_hand():
    """In integers: 4^126 times the square of the sensitivity, and its root to 50 digits."""
    whole = sum((math.comb(2 * k, k) * 4 ** (63 - k)) ** 2 for k in range(64))
    digits = math.isqrt(whole * 10**98 // 4**126)
    assert str(digits) == "15455898900728596132307101948678092815359772797677"
    found = sensitivity(MatrixParameters(rounds=64))
    assert Fraction(found.lower) <= Fraction(digits, 10**49)
    assert Fraction(digits + 1, 10**49) <= Fraction(found.upper)


def test_cyclic_square_roots_by_fifty_digits():
    n, b = 60, 12
    with mpmath.workdps(50):
        c = [mpmath.binomial(2 * k, k) / 4**k for k in range(n)]
        moved = [mpmath.fsum(c[t - j] for j in range(0, t + 1, b)) for t in range(n)]
        exact = mpmath.norm(moved)
        for kind in ("cyclic", "min-separation"):
            found = sensitivity(MatrixParameters(rounds=n, participation=kind, separation=b))
            assert mpmath.mpf(found.lower) <= exact <= mpmath.mpf(found.upper)
            assert found.width <= 1e-15 * found.upper


def test_squares_of_roots_are_the_sums():
    """C of a square root times itself is the workload: with and without momentum and decay."""
    for momentum, decay in ((0.0, 1.0), (0.9, 1.0), (0.5, 0.99), (0.0, 0.5)):
        model = MatrixParameters(rounds=12, momentum=momentum, decay=decay)
        c = [float(one) for one in strategy_of(model, Fraction).used]
        matrix = sum(one * np.eye(12, k=-k) for k, one in enumerate(c))
        assert matrix @ matrix == pytest.approx(prefix(12, momentum, decay), rel=1e-12)


def test_sixteen_of_what_was_written_is_no_more():
    """Coefficients .3 and .4 have the norm .5, though the doubles have not."""
    found = sensitivity(MatrixParameters(strategy="toeplitz", coefficients=(0.3, 0.4)))
    assert found.lower == found.upper == 0.5


def test_a_double_above_what_was_written_counts():
    """The norm of the doubles .1 and .4 is above the double that holds the root of .17."""
    found = sensitivity(MatrixParameters(strategy="toeplitz", coefficients=(0.1, 0.4)))
    exact = Fraction(0.1) ** 2 + Fraction(0.4) ** 2
    assert Fraction(found.lower) ** 2 <= Fraction(17, 100) < exact <= Fraction(found.upper) ** 2
    assert root_up(fmpq(17, 100)) < found.upper


# Off by one, and by two


def test_replacing_a_record_moves_twice_as_far():
    zero, replaced = (
        MATRIX.event(MatrixParameters(norm=3.0, noise_scale=2.0, rounds=9, relation=relation))
        for relation in ("zero-out-record", "replace-record")
    )
    assert zero.sensitivity == pytest.approx(3 * sensitivity(MatrixParameters(rounds=9)).upper)
    assert replaced.sensitivity == pytest.approx(2 * zero.sensitivity, rel=1e-15)
    assert zero.noise_scale == replaced.noise_scale == 2.0


def test_a_band_of_the_separation_costs_one_column_a_round_and_a_wider_one_more():
    c = root(100)[:, 0]
    for band in (4, 5, 6):
        way = ("min-separation", 5, 3)
        square = sensitivity(given(way, strategy="banded", band=band, rounds=100)).upper ** 2
        alone = 3 * float(c[:band] @ c[:band])
        overlap = 2 * 2 * sum(c[k] * c[k + 5] for k in range(max(band - 5, 0)))
        assert square == pytest.approx(alone + overlap, rel=1e-13)


@pytest.mark.parametrize("kind", ["cyclic", "min-separation"])
def test_one_more_round_is_one_more_epoch(kind):
    for n, epochs in ((12, 3), (13, 4), (16, 4)):
        found = sensitivity(
            MatrixParameters(strategy="identity", rounds=n, participation=kind, separation=4)
        )
        assert found.upper == root_up(fmpq(epochs))
        assert found.upper == pytest.approx(math.sqrt(epochs), rel=1e-15)


def test_one_more_participation_counts():
    def found(most):
        return sensitivity(given(("min-separation", 4, most), rounds=16)).upper

    assert found(1) == sensitivity(MatrixParameters(rounds=16)).upper
    assert found(1) < found(2) < found(3) < found(4) == found(5) == found(None)


def test_a_tree_is_the_binary_tree_by_name():
    for n in (1, 2, 3, 5, 8, 9, 1000):
        one = MATRIX.event(MatrixParameters(strategy="tree", rounds=n, noise_scale=3.0))
        other = TREE.event(TREE.parameters(leaves=n, noise_scale=3.0))
        assert compute_event_totals(one)["mu"] == pytest.approx(
            compute_event_totals(other)["mu"], rel=1e-15
        )
    assert sensitivity(MatrixParameters(strategy="tree", rounds=8)).upper == 2.0


def test_unfinished_nodes_of_a_tree_count_only_if_they_are_released():
    complete, online = (
        sensitivity(MatrixParameters(strategy="tree", rounds=9, completion=completion)).upper
        for completion in (True, False)
    )
    assert (complete, online) == (root_up(fmpq(5)), 2.0)


@pytest.mark.parametrize("is_completed", [True, False], ids=["complete", "online"])
def test_many_patterns_of_a_tree_are_enclosed(is_completed, monkeypatch):
    """With all inner products, and with what is known of nodes alone."""
    for rounds, separation, most in ((22, 4, None), (21, 3, 3), (16, 2, 4), (13, 5, None)):
        apart = Participation(kind="min-separation", separation=separation, most=most)
        tree_of = Tree(rounds, is_completed)
        monkeypatch.setattr(sensitivities, "_MOST_PATTERNS", 5_000)
        exact = compute_squared_sensitivity(tree_of, apart)
        assert exact.lower == exact.upper
        monkeypatch.setattr(sensitivities, "_MOST_PATTERNS", 0)
        for limit in (2_000, 0):
            monkeypatch.setattr(sensitivities, "_MOST_ROUNDS", limit)
            found = compute_squared_sensitivity(tree_of, apart)
            assert found.lower <= exact.upper <= found.upper
        monkeypatch.setattr(sensitivities, "_MOST_ROUNDS", 2_000)
        assert float(found.upper) < 1.4 * float(exact.upper)


def test_what_fills_nodes_is_exact_where_a_pattern_does():
    kind = {"strategy": "tree", "participation": "min-separation"}
    assert sensitivity(MatrixParameters(rounds=100, separation=20, **kind)).upper == root_up(
        fmpq(76)
    )
    found = sensitivity(MatrixParameters(rounds=4096, separation=512, **kind))
    assert found.upper == root_up(fmpq(10 * 8 + 16 + 32 + 64))
    assert found.width <= 1e-15 * found.upper


# By name


def test_rows_are_as_good_as_names():
    rows = root(12)
    for way in WAYS:
        one = sensitivity(given(way, strategy="matrix", matrix=rows))
        other = sensitivity(given(way, rounds=12))
        assert one.upper == pytest.approx(other.upper, rel=1e-13)


def test_the_noise_of_a_release_is_taken_out_of_it():
    """``A x + B z``: of B = A nothing but x + z is left; of B = 2 half of A."""
    sums = prefix(4)
    assert (
        sensitivity(MatrixParameters(strategy="matrix", matrix=sums, noise_matrix=sums)).upper
        == 1.0
    )
    half = MatrixParameters(strategy="matrix", matrix=sums, noise_matrix=2 * np.eye(4))
    assert sensitivity(half).upper == 1.0  # 4 ones of 1/2
    upside = np.eye(4)[::-1]
    turned = MatrixParameters(strategy="matrix", matrix=sums, noise_matrix=upside)
    assert "no row of x may depend" in MATRIX.words(turned)
    assert "may depend on all" in MATRIX.words(half)


def test_rows_are_in_the_order_of_their_last_rounds():
    """Of a tree by its rows: node by node as they fill, or level by level."""
    by_level = tree(4, completion=True)
    ends = np.array([np.flatnonzero(row)[-1] for row in by_level])
    by_time = by_level[np.argsort(ends, kind="stable")]
    said = [
        MATRIX.words(MatrixParameters(strategy="matrix", matrix=rows))
        for rows in (by_level, by_time, np.tri(3), np.tri(3).T)
    ]
    assert ["may depend on all" in words for words in said] == [False, True, True, False]


def test_account_and_calibrate_agree_with_the_gaussian_of_that_sensitivity():
    found = account("matrix", 1e-6, rounds=100, noise_scale=2.0, count=4)
    mu = sensitivity(MatrixParameters(rounds=100)).upper / 2.0 * 2
    assert found.proved.upper == pytest.approx(GaussianDP(mu).epsilon(1e-6), rel=1e-9)
    assert found.total["mu"] == pytest.approx(mu, rel=1e-15)
    assert found.relation == "zero-out-record"
    one = calibrate(lambda noise: MATRIX.event(MatrixParameters(noise_scale=noise)), 1.0, 1e-6)
    other = calibrate(lambda noise: GaussianRelease(sensitivity=1.0, noise_scale=noise), 1.0, 1e-6)
    default = sensitivity(MatrixParameters()).upper
    assert one.value == pytest.approx(default * other.value, rel=1e-6)


def test_in_a_file_squares_of_mu_add_up(tmp_path):
    path = tmp_path / "training.toml"
    path.write_text(
        '[[release]]\nkind = "matrix"\nstrategy = "banded"\nband = 4\nrounds = 40\n'
        'participation = "min-separation"\nseparation = 4\nnoise_scale = 10.0\n'
        '[[release]]\nkind = "gaussian"\nnoise_scale = 4.0\n'
        '[[release]]\nkind = "correlated-outputs"\nweights = [1, 1]\n'
        "covariance = [[2, 1], [1, 2]]\nnoise_scale = 4.0\n"
    )
    c = root(4)[:, 0]
    squares = [10 * float(c @ c) / 100, 1 / 16, 2 / 3 / 16]
    assert account(str(path)).total["mu"] == pytest.approx(math.sqrt(sum(squares)), rel=1e-13)
    path.write_text(path.read_text() + '[[release]]\nkind = "subsampled-gaussian"\n')
    with pytest.raises(InvalidArgument, match="one neighbour relation"):
        account(str(path))


def test_the_command_says_what_is_accounted_for():
    words = ["account", "matrix", "--set", "strategy=tree", "--set", "rounds=8", "--json"]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    said = json.loads(ran.output)
    assert said["total"]["mu"] == 2.0
    assert said["words"][0] == (
        "A record is in one of 8 rounds. The sensitivity of C is 2: exactly Gaussian, mu = 2. Each "
        "row of x may depend on all that was released before it."
    )


def test_what_is_calibrated_is_described_with_its_noise():
    words = ["calibrate", "matrix", "--epsilon", "2", "--delta", "1e-6", "--set", "strategy=tree"]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    noise = float(ran.output.split("\n")[0].removeprefix("noise_scale="))
    mu = math.sqrt(11) / noise  # 1,000 rounds have nodes of 11 sizes
    assert f"mu = {mu:.5g}" in ran.output
    assert GaussianDP(mu).epsilon(1e-6) == pytest.approx(2, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("band", {"band": 3}),
        ("cancellation", {"strategy": "tree", "cancellation": 0.5}),
        ("momentum", {"strategy": "identity", "momentum": 0.5}),
        ("matrix", {"matrix": ((1.0,),)}),
        ("matrix", {"strategy": "matrix"}),
        ("matrix", {"strategy": "matrix", "matrix": ((1.0, 2.0), (1.0,))}),
        ("matrix", {"strategy": "matrix", "matrix": ((),)}),
        ("matrix", {"strategy": "matrix", "matrix": ((0.0,) * 501,)}),
        ("rounds", {"strategy": "matrix", "matrix": ((1.0, 2.0),), "rounds": 3}),
        ("noise_matrix", {"strategy": "matrix", "matrix": ((1.0,),), "noise_matrix": ((0.0,),)}),
        (
            "noise_matrix",
            {"strategy": "matrix", "matrix": ((1.0,),), "noise_matrix": ((1.0, 0.0), (0.0, 1.0))},
        ),
        ("coefficients", {"strategy": "toeplitz"}),
        ("separation", {"separation": 2}),
        ("separation", {"participation": "poisson"}),
        ("separation", {"participation": "poisson", "strategy": "tree", "rounds": 4}),
        ("separation", {"participation": "poisson", "strategy": "banded", "band": 2}),
        (
            "separation",
            {
                "participation": "poisson",
                "strategy": "matrix",
                "matrix": ((1.0, 1.0), (0.0, 1.0)),
                "separation": 2,
            },
        ),
        (
            "participations",
            {"participation": "poisson", "strategy": "identity", "participations": 2},
        ),
        ("sampling_ratio", {"sampling_ratio": 0.5}),
        ("relation", {"relation": "add-remove-record"}),
        (
            "relation",
            {"participation": "poisson", "strategy": "identity", "relation": "replace-record"},
        ),
        ("participations", {"participations": 2}),
        ("participations", {"participation": "cyclic", "separation": 300, "participations": 3}),
        (
            "rounds",
            {
                "strategy": "prefix",
                "momentum": 0.5,
                "rounds": 5000,
                "participation": "min-separation",
            },
        ),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_by_name(name, parameters):
    with pytest.raises(InvalidArgument) as caught:
        MATRIX.event(MatrixParameters(**parameters))
    assert caught.value.name == name


# The same from code, by an engine that knows no strategy


def square_root_code(x, rng):
    """Prefix sums ``A x + B z``: of a square root B is C."""
    c = root(len(x))
    return np.cumsum(x) + c @ rng.normal(scale=2.0, size=len(x))


def lambda_code(x, rng):
    """Every round takes back three quarters of the noise before it."""
    seen, last = [], 0.0
    for one in x:
        noise = rng.normal(scale=2.0)
        seen.append(one + noise - 0.75 * last)
        last = noise
    return seen


def online_tree_code(x, rng):
    return [
        sum(x[start : start + size]) + rng.normal(scale=2.0)
        for size in (1, 2, 4)
        for start in range(0, len(x) - size + 1, size)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "parameters"),
    [
        (square_root_code, {"strategy": "square-root"}),
        (lambda_code, {"strategy": "lambda-cgd", "cancellation": 0.75}),
        (online_tree_code, {"strategy": "tree", "completion": False}),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_code_of_it_has_the_mu_of_the_worst_pattern(code, parameters):
    n = 7
    for way in (("single", 1, None), ("cyclic", 3, None), ("min-separation", 2, 2)):
        found = 0.0
        for rounds in patterns(n, *way):
            change = np.zeros(n)
            change[list(rounds)] = 1.0
            seen = dpaudit.views(code, private=np.zeros(n), change=change)
            found = max(found, seen.worst.upper)
        event = MATRIX.event(given(way, rounds=n, noise_scale=2.0, **parameters))
        assert compute_event_totals(event)["mu"] == pytest.approx(found, rel=1e-12)


# Rows that are chosen after seeing


def test_an_adversary_who_chooses_after_seeing_does_not_pass_mu():
    """Of prefix sums, from 200,000 runs: in which round the record enters depends on outputs."""
    rng, n, noise = np.random.default_rng(5), 6, 2.0
    matrix, runs, epsilon = prefix(n), 200_000, 1.0
    drawn = rng.normal(size=(runs, n)) * noise
    entered, loss = np.zeros(runs, dtype=bool), np.zeros(runs)
    inside = np.zeros((runs, n))
    for t in range(n):
        late = t == n - 1
        enters = ~entered & ((drawn[:, max(t - 1, 0)] > 0.5) | late)
        inside[enters, t] = 1
        entered |= enters
        moved = inside[:, : t + 1] @ matrix[t, : t + 1]
        loss += (moved * drawn[:, t] + moved**2 / 2) / noise**2
    over = np.maximum(1 - np.exp(epsilon - loss), 0)
    mu = sensitivity(MatrixParameters(strategy="prefix", rounds=n)).upper / noise
    bound, spread = GaussianDP(mu).delta(epsilon), over.std() / math.sqrt(runs)
    assert over.mean() <= bound + 4 * spread
    half = GaussianDP(mu / 2).delta(epsilon)
    assert over.mean() - 4 * spread > half  # half of mu is refuted by the same runs


# Poisson samples


def poisson(**parameters):
    return MatrixParameters(participation="poisson", sampling_ratio=0.25, **parameters)


def test_samples_without_correlation_are_those_of_dp_sgd():
    one = poisson(strategy="identity", rounds=30, noise_scale=6.0, norm=3.0, count=2)
    assert MATRIX.event(one) == PoissonSubsampledGaussian(
        sampling_ratio=0.25, noise_multiplier=2.0, count=60
    )
    assert MATRIX.neighbours(one) == "zero-out-record"
    assert is_attained(one)


def test_a_band_leaves_as_many_samples_as_cycles():
    for rounds, samples in ((18, 6), (19, 7), (21, 7)):
        event = MATRIX.event(poisson(strategy="banded", band=3, separation=3, rounds=rounds))
        column = float(np.linalg.norm(root(3)[:, 0]))
        assert event.count == samples
        assert event.noise_multiplier == pytest.approx(1 / column, rel=1e-14)
        assert event.noise_multiplier * column <= 1 + 1e-16


def test_a_group_of_the_longest_columns_attains_what_is_said():
    """Of 19 rounds the group of 0 has a last column that is cut, and no other has as many."""
    band = {"strategy": "banded", "band": 3, "separation": 3}
    assert is_attained(poisson(rounds=18, **band))
    assert not is_attained(poisson(rounds=19, **band))


def test_columns_that_are_a_little_shorter_attain_nothing():
    """Of squares of 1 and 1 + 4e-14: the group of the longest one has another that is shorter."""
    for length, attained in ((1.0, True), (1 + 2e-14, False)):
        rows = np.diag([1.0, length])
        assert is_attained(poisson(strategy="matrix", matrix=rows)) is attained
    cut_off = {"strategy": "toeplitz", "coefficients": (1.0, 1e-7), "separation": 2}
    assert is_attained(poisson(rounds=4, **cut_off))
    assert not is_attained(poisson(rounds=5, **cut_off))


def test_columns_are_as_long_as_what_was_written():
    """Of .3 and .4 as long as of .5."""
    rows = ((0.3, 0.0, 0.0), (0.4, 0.0, 0.0), (0.0, 0.0, 0.5))
    assert is_attained(poisson(strategy="matrix", matrix=rows, separation=2))


def test_ends_that_differ_by_more_than_roundings_are_none_of_one_number():
    """All inner products below 0: no signs make the terms of three columns positive."""
    rows = ((1.0, -1e-13, 0.0), (0.0, 1.0, -1e-13), (-1e-13, 0.0, 1.0))
    signed = MatrixParameters(strategy="matrix", matrix=rows, participation="min-separation")
    assert 0 < sensitivity(signed).width < 1e-12
    assert not is_attained(signed)


def test_the_band_is_that_of_the_rows_too():
    rows = cut(root(9), 3)
    one, other = (
        MATRIX.event(poisson(separation=3, **parameters))
        for parameters in (
            {"strategy": "matrix", "matrix": rows},
            {"strategy": "banded", "band": 3, "rounds": 9},
        )
    )
    assert one == other
    rows[8, 5] = 0.01
    with pytest.raises(InvalidArgument, match=r"^separation: "):
        MATRIX.event(poisson(separation=3, strategy="matrix", matrix=rows))


def test_sampled_rounds_of_a_wider_band_would_lose_more():
    """Of prefix sums of two rounds, both sampled for sure: 5, and not two columns of 2."""
    wide = sensitivity(given(("min-separation", 1, 2), strategy="prefix", rounds=2))
    column = sensitivity(MatrixParameters(strategy="prefix", rounds=2))
    assert wide.upper**2 == pytest.approx(5)
    assert 2 * column.upper**2 == pytest.approx(4)


def test_exact_losses_of_sampled_rounds_do_not_pass_the_account():
    """Of a band of 2 and three samples; the record's sign is chosen after what was released."""
    rng, ratio, epsilon, runs = np.random.default_rng(7), 0.25, 0.5, 200_000
    column, noise = np.array([1.0, 0.5]), 1.0
    loss, last = np.zeros(runs), np.zeros(runs)
    for _ in range(3):
        moved = np.where(last > 0, 1.0, -1.0)[:, None] * column
        sampled = rng.random(runs) < ratio
        seen = sampled[:, None] * moved + noise * rng.normal(size=(runs, 2))
        exponent = (seen * moved).sum(axis=1) / noise**2 - column @ column / 2 / noise**2
        loss += np.log1p(ratio * np.expm1(exponent))
        last = seen[:, 0]
    over = np.maximum(-np.expm1(epsilon - loss), 0)
    spread = over.std() / math.sqrt(runs)
    band = {"strategy": "banded", "band": 2, "separation": 2, "rounds": 6}
    delta = proved_guarantee(MATRIX.event(poisson(**band))).delta(epsilon)
    assert over.mean() <= delta + 4 * spread
    less = proved_guarantee(MATRIX.event(poisson(noise_scale=1.05, **band))).delta(epsilon)
    assert over.mean() > less + 4 * spread  # five per cent more noise is refuted by the same runs


# Correlated outputs


def test_correlated_outputs_are_one_gaussian():
    rng = np.random.default_rng(6)
    for size in (1, 2, 5):
        half = rng.integers(-4, 5, size=(size, size + 1)).astype(float)
        covariance = half @ half.T + np.eye(size)
        weights = rng.normal(size=size)
        found = distance(CorrelatedParameters(weights=weights, covariance=covariance))
        with mpmath.workdps(50):
            column = mpmath.matrix(weights.tolist())
            inner = column.T * mpmath.lu_solve(mpmath.matrix(covariance.tolist()), column)
            exact = mpmath.sqrt(inner[0])
            assert mpmath.mpf(found.lower) <= exact <= mpmath.mpf(found.upper)
        assert found.width <= 1e-15 * found.upper


def test_two_outputs_of_which_one_has_half_the_query():
    """Delta ||c|| / sigma, of c = (1, 1/2)."""
    event = CORRELATED.event(CorrelatedParameters(weights=(1.0, 0.5), noise_scale=2.0))
    assert event.sensitivity / event.noise_scale == pytest.approx(math.sqrt(5) / 4, rel=1e-15)
    shared = CorrelatedParameters(weights=(1, 1), covariance=((1.0, 0.5), (0.5, 1.0)))
    assert distance(shared).upper == pytest.approx(math.sqrt(4 / 3), rel=1e-15)


def test_correlated_outputs_are_the_matrix_mechanism_of_their_root():
    """``c x + B z`` of ``S = B B'``."""
    half = np.array([[2.0, 0.0], [1.0, 3.0]])
    one = distance(CorrelatedParameters(weights=(1, 2), covariance=half @ half.T))
    other = MatrixParameters(strategy="matrix", matrix=((1,), (2,)), noise_matrix=half)
    assert one == sensitivity(other)


@pytest.mark.parametrize(
    "covariance",
    [
        ((1.0, 0.5), (0.4, 1.0)),
        ((1.0, 1.0), (1.0, 1.0)),
        ((1.0, 2.0), (2.0, 1.0)),
        ((0.0, 1.0), (1.0, 0.0)),
        ((1.0,),),
        ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    ],
    ids=str,
)
def test_a_covariance_that_is_none_is_refused_by_name(covariance):
    with pytest.raises(InvalidArgument) as caught:
        distance(CorrelatedParameters(weights=(1.0, 1.0), covariance=covariance))
    assert caught.value.name == "covariance"


def test_an_event_of_python_says_the_same():
    event = MATRIX.event(MatrixParameters(rounds=64))
    assert isinstance(event, GaussianRelease)
    assert is_attained(MatrixParameters(rounds=64))
    assert f"{account(event).total['mu']:.5f}" == "1.54559"
