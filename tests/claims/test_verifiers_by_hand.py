"""Parts of the verifiers of claims on certificates of a few numbers, worked out by hand."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpaudit.algorithms.consensus.verify import networks
from dpaudit.algorithms.multistep.verify import node, star
from dpaudit.algorithms.sharing.verify.hu2019 import growth, iterations
from dpaudit.algorithms.sharing.verify.hu2020 import support, update
from dpaudit.errors import DataError
from dpaudit.verification import Document
from dpaudit.verification.reals import Matrix, Real


def document(parameters, instance=(), **rest):
    given = {"path": "c.json", "claim": "c", "quantities": {}, "assumptions": {}} | rest
    return Document(parameters=parameters, instance=dict(instance), **given)


def plain(numbers):
    return [float(one) for one in numbers]


def refused(field):
    return pytest.raises(DataError, match=rf"^c\.json: {field}: ")


# Nodes of multi-step ADMM


@pytest.mark.parametrize("value", [0.0, 1.0, 1.5, -0.5])
def test_a_share_is_above_0_and_below_1(value):
    assert node.read_unit_share(document({"delta": 0.75}), "delta") == 0.75
    with refused(r"parameters\.delta"):
        node.read_unit_share(document({"delta": value}), "delta")


def test_a_constant_below_that_of_the_proof_is_a_reservation():
    delta = Real(Fraction(1, 100))
    own = math.sqrt(math.log(100) / math.log(125))
    assert node.unusual_constant(Real(own * (1 - 1e-13)), delta) == ()
    assert node.unusual_constant(Real(1.0), delta) == ()
    below = node.unusual_constant(Real(own * (1 - 1e-11)), delta)
    assert below == (f"c_0 = {own:g}, below the {own:.6g} of the proof",)
    assert node.unusual_constant(Real(1.0), Real(0)) == ()
    assert len(node.unusual_constant(Real(0.999), Real(0))) == 1


def test_probabilities_are_divided_by_their_sum():
    weights = [0.25, 0.75 + 2.0**-41]
    found = node.read_probability_law(document({}, {"p": weights}), "p", 2)
    whole = sum(map(Fraction, weights))
    exact = [float(Fraction(p) / whole) for p in weights]
    assert plain(found) == pytest.approx(exact, rel=1e-15)
    assert plain(node.read_probability_law(document({}, {"p": [0.0, 1.0]}), "p", 2)) == [0.0, 1.0]


@pytest.mark.parametrize("weights", [[0.25, 0.5], [0.5, 0.5 + 2e-12], [0.5, 0.5 - 2e-12], [-1, 2]])
def test_what_is_no_law_is_refused(weights):
    with refused(r"instance\.p"):
        node.read_probability_law(document({}, {"p": weights}), "p", 2)


def test_records_longer_than_1_are_shrunk_and_shorter_ones_stay():
    file = document({"dimension": 2}, {"record": [0.5, 0.0], "replacement": [3.0, -4.0]})
    record, replacement, longest = node.read_record_pair(file)
    assert (plain(record), float(longest)) == ([0.5, 0.0], 5.0)
    assert plain(replacement) == pytest.approx([0.6, -0.8], abs=1e-15)
    file = document({"dimension": 2}, {"record": [3.0, -4.0], "replacement": [0.5, 0.25]})
    record, replacement, longest = node.read_record_pair(file)
    assert (plain(replacement), float(longest)) == ([0.5, 0.25], 5.0)
    assert plain(record) == pytest.approx([0.6, -0.8], abs=1e-15)


@pytest.mark.parametrize(
    ("nodes", "chosen", "edges", "found"),
    [
        (1, 0, [], (0, 1)),
        (3, 1, [[0, 1], [1, 2]], (2, 1)),
        (3, 2, [[0, 1], [1, 2]], (1, 1)),
        (5, 4, [[0, 1], [2, 3], [1, 2]], (0, 2)),
        (5, 0, [[0, 4], [3, 0]], (2, 3)),
        (4, 0, [[3, 2], [2, 1], [1, 0]], (1, 1)),
        (4, 3, [], (0, 4)),
    ],
)
def test_degree_and_components_of_a_listed_graph(nodes, chosen, edges, found):
    stated = {"nodes": nodes, "node": chosen, "edges": len(edges)}
    assert node.read_node_graph(document(stated, {"edges": edges})) == found


@pytest.mark.parametrize(
    ("changes", "edges", "field"),
    [
        ({"node": 3}, [[0, 1]], r"parameters\.node"),
        ({"node": -1}, [[0, 1]], r"parameters\.node"),
        ({"node": 0.0}, [[0, 1]], r"parameters\.node"),
        ({"node": True}, [[0, 1]], r"parameters\.node"),
        ({"edges": -1}, [[0, 1]], r"parameters\.edges"),
        ({"edges": 1.0}, [[0, 1]], r"parameters\.edges"),
        ({}, [[1, 1]], r"instance\.edges"),
        ({}, [[0, 3]], r"instance\.edges"),
        ({}, [[-1, 0]], r"instance\.edges"),
        ({}, [[0.5, 0]], r"instance\.edges"),
        ({"edges": 2}, [[0, 1], [1, 0]], r"instance\.edges"),
        ({"edges": 2}, [[0, 1], [0, 1]], r"instance\.edges"),
    ],
)
def test_what_is_no_list_of_edges_is_refused(changes, edges, field):
    stated = {"nodes": 3, "node": 0, "edges": 1} | changes
    with refused(field):
        node.read_node_graph(document(stated, {"edges": edges}))


@pytest.mark.parametrize(
    ("loss", "margin", "slope"),
    [
        ("logistic", 0.0, -0.5),
        ("logistic", math.log(3), -0.25),
        ("hinge", 0.75, -1.0),
        ("hinge", 1.0, 0.0),
        ("hinge", 1.25, 0.0),
        ("smoothed-hinge", -2.0, -1.0),
        ("smoothed-hinge", 0.0, -1.0),
        ("smoothed-hinge", 0.25, -0.75),
        ("smoothed-hinge", 1.5, 0.0),
        ("linear", 7.0, -1.0),
        ("absolute", 0.5, -1.0),
        ("absolute", 1.0, 0.0),
        ("absolute", 2.0, 1.0),
    ],
)
def test_gradients_of_one_record(loss, margin, slope):
    """The record (1, 0) has the model's first entry as its margin, and (0, -2) none of it."""
    file = document({"loss": loss})
    one = node.compute_record_gradient(file, [Real(0.5), Real(-0.25)], [Real(2 * margin), Real(0)])
    assert plain(one) == pytest.approx([0.5 * slope, -0.25 * slope], abs=1e-15)


# Stars of multi-step ADMM

STAR = {
    "nodes": 3, "iterations": 2, "inner_steps": 2, "records": 100, "epsilon": 0.5, "delta": 0.01,
    "penalty": 0.5, "slack": 0.25, "steepest": "sum",
}  # fmt: skip


def a_star(**changes):
    return star.CertificateStar(document(STAR | changes))


@pytest.mark.parametrize(("steepest", "own"), [("sum", 1 / 3), ("node", 1.0)])
def test_the_noise_and_the_schedule_of_a_star(steepest, own):
    """Noise sqrt(2 T l 8 ln(1.25 / delta)) / (epsilon N); eta sqrt(2 k r) times both slopes."""
    found = a_star(steepest=steepest)
    noise = math.sqrt(2 * 4 * 8 * math.log(125)) / (0.5 * 100)
    assert (found.steps, found.edges, found.inner) == (4, 2, 2)
    assert (found.rho, found.slack) == (0.5, 0.25)
    assert float(found.noise) == pytest.approx(noise)
    etas = [math.sqrt(2 * k * r) * math.hypot(own, noise) for k, r in [(1, 1), (1, 2), (2, 1)]]
    etas.append(math.sqrt(8) * math.hypot(own, noise))
    schedule = found.schedule()
    assert [float(eta) for eta, *_ in schedule] == pytest.approx(etas)
    assert [(first, last) for _, first, last in schedule] == [(True, False), (False, True)] * 2


def test_inner_steps_of_another_name_and_no_more_steps_than_400():
    renamed = star.CertificateStar(document(STAR | {"fewer_steps": 1}), "fewer_steps")
    assert [ends for _, *ends in renamed.schedule()] == [[True, True]] * 2
    assert a_star(iterations=200).steps == 400
    with refused(r"parameters\.iterations"):
        a_star(iterations=201)


LOSS = {"target": [0.5, 0.25], "slopes": [1.0, 0.75, 0.5]}


@pytest.mark.parametrize(
    ("model", "gradient", "lead"),
    [
        ((2.5, 0.25), [1.0, 0.0], 2.0),  # the zero piece is the next one
        ((-1.5, 0.25), [-0.75, 0.0], 1.5),
        ((0.5, 4.25), [0.0, 0.5], 2.0),
        ((1.5, 4.25), [0.0, 0.5], 1.0),
        ((0.5, -0.75), [0.0, 0.0], 0.0),
    ],
)
def test_the_leading_piece_of_the_centres_loss(model, gradient, lead):
    loss = star.CentreLoss(document({}, LOSS))
    slope, gap = loss.gradient([Real(w) for w in model])
    if lead:
        assert (plain(slope), float(gap)) == (gradient, lead)
    else:
        assert float(gap) == 0.0


def test_slopes_below_0_are_refused():
    assert star.CentreLoss(document({}, LOSS | {"slopes": [0.0, 0.0, 0.0]})).slopes == [0, 0, 0]
    with refused(r"instance\.slopes"):
        star.CentreLoss(document({}, LOSS | {"slopes": [1.0, 1.0, -0.25]}))


def run_by_nodes(found, gradients, noise=None):
    """Return the models of all nodes of a star, step by step, node by node, and their duals.

    A node's dual, ``gamma``, moves by ``rho / 2`` times the sum of its differences. ``noise`` is
    added to the gradient: node, step and both features.
    """
    nodes, edges = found.nodes, found.edges
    rho = float(found.rho)
    near = [list(range(1, nodes)), *[[0]] * edges]
    models, duals, sent = (np.zeros((nodes, 2)) for _ in range(3))
    path, total = [], np.zeros((nodes, 2))
    for step, (eta, first, last) in enumerate(found.schedule()):
        total = np.zeros((nodes, 2)) if first else total
        new = np.zeros((nodes, 2))
        for i in range(nodes):
            slope = np.array(gradients[step] if i == 0 else (0.0, 0.0))
            if noise is not None:
                slope = slope + noise[i, step]
            pulled = rho * sum(sent[i] + sent[j] for j in near[i]) - 2 * duals[i]
            unit = 2 * rho * len(near[i]) + float(eta)
            new[i] = (float(eta) * models[i] + pulled - slope) / unit
        models, total = new, total + new
        if last:
            sent = total / found.inner
            duals = duals + rho / 2 * np.array(
                [sum(sent[i] - sent[j] for j in near[i]) for i in range(nodes)]
            )
        path.append((models, duals))
    return path


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_the_noise_free_run_is_that_of_every_node(nodes):
    found, loss = a_star(nodes=nodes), star.CentreLoss(document({}, LOSS))
    centre, leaf, duals, least = star.noise_free(found, loss)
    slopes = [loss.gradient(model) for model in centre[:-1]]
    path = run_by_nodes(found, [plain(slope) for slope, _ in slopes])
    assert np.allclose([plain(one) for one in centre[1:]], [m[0] for m, _ in path], atol=1e-12)
    last = 1 if nodes > 1 else 0
    assert np.allclose([plain(one) for one in leaf[1:]], [m[last] for m, _ in path], atol=1e-12)
    assert float(least) == min(float(gap) for _, gap in slopes)
    assert (plain(centre[0]), plain(leaf[0])) == ([0.0, 0.0], [0.0, 0.0])
    sizes = [np.linalg.norm(d[1]) for _, d in path] if nodes > 1 else []
    assert np.allclose(plain(duals), [0.0, *sizes], atol=1e-12)


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_every_noise_term_is_followed_to_the_end(nodes):
    """One unit of noise a node and step, and one feature: its effects are squared and summed."""
    found = a_star(nodes=nodes, slack=0.05)
    steps, scale = found.steps, float(found.noise) / math.sqrt(2)
    variances = {name: np.zeros((steps, nodes)) for name in ("model", "dual")}
    means = np.zeros(nodes)
    for i, step in itertools.product(range(nodes), range(steps)):
        noise = np.zeros((nodes, steps, 2))
        noise[i, step, 0] = scale
        path = run_by_nodes(found, [(0.0, 0.0)] * steps, noise)
        models = np.array([m[:, 0] for m, _ in path])
        variances["model"] += models**2
        variances["dual"] += np.array([d[:, 0] for _, d in path]) ** 2
        means += (models[:-1].sum(axis=0) / steps) ** 2
    watched = np.concatenate([variances["model"], variances["dual"][:, 1:]], axis=1)
    some = watched[watched > 0]
    outside, of_centre, of_leaf = star.noise_of(found)
    assert float(outside) == pytest.approx(np.exp(-(0.05**2) / (2 * some)).sum(), rel=1e-9)
    assert float(of_centre) == pytest.approx(math.sqrt(2 * means[0]), rel=1e-9)
    if nodes > 1:
        assert float(of_leaf) == pytest.approx(math.sqrt(2 * means[1]), rel=1e-9)


def test_means_and_distances_of_points():
    points = [[Real(0), Real(3)], [Real(4), Real(0)], [Real(2), Real(3)]]
    assert plain(star.average(points)) == [2.0, 2.0]
    assert float(star.compute_point_distance_square(points[0], points[1])) == 25.0
    assert float(star.compute_point_diameter(points)) == 5.0
    assert float(star.compute_point_diameter([points[2], points[0], points[2]])) == 2.0


# Networks of M-ADMM

PATH = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
STEP = {"nodes": 3, "dual_step": 0.5, "penalties": "own"}
QUADRATICS = {"adjacency": PATH, "penalty": [1.0, 2.0, 0.75], "curvature": [0.5, 0.25, 1.0]}


@pytest.mark.parametrize("nodes", [2, 12])
def test_2_to_12_nodes(nodes):
    assert networks.node_count(document({"nodes": nodes})) == nodes
    outside = {2: 1, 12: 13}[nodes]
    with refused(r"parameters\.nodes"):
        networks.node_count(document({"nodes": outside}))


def test_rows_are_above_their_limit():
    file = document({}, {"x": [0.5, 0.25]})
    assert (
        networks.read_node_numbers(file, "x", 2)
        == networks.read_node_numbers(file, "x", 2, above=0.0)
        == [0.5, 0.25]
    )
    with refused(r"instance\.x"):
        networks.read_node_numbers(file, "x", 2, above=0.25)


def test_assumptions_on_quadratics():
    nodes, theta, adjacency, found = networks.read_quadratic_network(document(STEP, QUADRATICS))
    assert (nodes, theta, adjacency[0, 1], adjacency[0, 2]) == (3, 0.5, 1, 0)
    assert found == {
        "connected graph": (1, 1),
        "penalties at least theta": (0.5, 0.75),
        "strongly convex": (0, 0.25),
    }
    found = networks.read_quadratic_network(document(STEP | {"penalties": "shared"}, QUADRATICS))[3]
    assert found["one penalty"] == (1.25, 0)


@pytest.mark.parametrize("field", ["penalty", "curvature"])
def test_penalties_and_curvatures_are_above_0(field):
    with refused(rf"instance\.{field}"):
        networks.read_quadratic_network(document(STEP, QUADRATICS | {field: [1.0, 0.0, 1.0]}))


def test_the_first_step_is_that_of_the_matrices():
    """(10) and (11) from f = (1, -2, 0.5) and no duals; ``2 Lambda = sqrt(L) Y``."""
    a = np.array(PATH, dtype=float)
    lap, signless = np.diag(a.sum(axis=1)) - a, np.diag(a.sum(axis=1)) + a
    theta, start, slope = 0.5, np.array([1.0, -2.0, 0.5]), np.array([0.25, -1.0, 2.0])
    penalty, curvature = (np.array(QUADRATICS[name]) for name in ("penalty", "curvature"))
    weighted = np.diag(penalty) @ signless
    models = (slope + weighted @ start) / (curvature + 2 * penalty * a.sum(axis=1))
    duals = theta * lap @ models
    best = slope.sum() / curvature.sum()
    wanted, inverse = slope - curvature * best, np.linalg.pinv(lap)
    expected = {
        "before": wanted @ inverse @ wanted / theta + (start - best) @ weighted @ (start - best),
        "after": (duals - wanted) @ inverse @ (duals - wanted) / theta
        + (models - best) @ weighted @ (models - best),
        "product": duals @ inverse @ (duals - wanted) / theta
        + (models - best) @ weighted @ (models - start),
        "size": wanted @ inverse @ wanted / theta
        + (2 * penalty * a.sum(axis=1) * (start - best) ** 2).sum(),
    }
    rows = ([Real(x) for x in one] for one in (penalty, curvature, slope, start))
    found = networks.first_step(Matrix(PATH), Real(theta), *rows)
    assert {name: float(one) for name, one in vars(found).items()} == pytest.approx(expected)


def test_singular_values_are_the_largest_first():
    found = networks.singular_values(Matrix([[0, -3, 0], [2, 0, 0], [0, 0, 1]]))
    assert plain(found) == pytest.approx([3.0, 2.0, 1.0])


# Designs of hu2020

ROWS = {"samples": 2, "features": 2}


def test_rows_are_made_of_norm_1_and_measured_as_they_were():
    stored = {"design": [[3.0, 4.0], [0.0, 0.0]], "neighbour": [[-3.0, 4.0], [0.0, 0.0]]}
    design, other, found = update.read_neighbour_designs(document(ROWS, stored))
    assert plain(design.row(0)) == pytest.approx([0.6, 0.8], abs=1e-15)
    assert plain(other.row(0)) == pytest.approx([-0.6, 0.8], abs=1e-15)
    assert plain(design.row(1)) == plain(other.row(1)) == [0.0, 0.0]
    assert {name: float(value) for name, (value, _) in found.items()} == pytest.approx(
        {
            "unit rows": 4.0,
            "unit rows of the neighbour": 4.0,
            "one column differs": 1,
            "close neighbours": 1.2,
        }
    )
    limits = [float(limit) for _, limit in found.values()]
    assert limits == [1e-12, 1e-12, 1.0, 1.0]


@pytest.mark.parametrize(
    ("one", "other", "columns", "apart"),
    [
        ([[3, 4]], [[3, 4]], 0, 0.0),
        ([[3, 4]], [[6, 8]], 0, 0.0),
        ([[3, 4]], [[-6, 8]], 1, 1.2),
        ([[3, 4]], [[4, 3]], 2, math.sqrt(0.08)),
        ([[3, 4]], [[-3, -4]], 2, 2.0),
        ([[3, 4], [0, 5]], [[3, -4], [5, 0]], 2, math.sqrt(1.6**2 + 2)),
        ([[0, 0]], [[1, 0]], 1, 1.0),
        ([[1, 0]], [[0, 0]], 1, 1.0),
    ],
)
def test_how_far_two_designs_are_apart(one, other, columns, apart):
    here, there = update._convert_rows_to_fractions(one), update._convert_rows_to_fractions(other)
    assert float(update._measure_row_difference(here, there)) == pytest.approx(apart, abs=1e-15)
    if any(map(any, one)) and any(map(any, other)):
        assert update._differing_columns(here, there) == columns


def test_distances_of_entries_are_added():
    stored = {"design": [[0.5, 0.25], [1.0, 0.0]], "neighbour": [[0.25, 0.75], [-1.0, 0.0]]}
    assert update.entrywise_distance(document(ROWS, stored)) == 2.75


def test_a_factor_of_1_is_not_mentioned():
    assert update.format_claim_factor(document({"factor": 1.0})) == ""
    assert update.format_claim_factor(document({"factor": 0.5})).strip() != ""


MOVED = ROWS | {
    "penalty": 0.5, "regulariser_weight": 0.25, "bound": 2.0, "curvature": 1.0, "parties": 3,
}  # fmt: skip
INSTANCE = {
    "design": [[0.6, 0.8], [1.0, 0.0]], "neighbour": [[-0.6, 0.8], [1.0, 0.0]],
    "dual": [0.5, -0.25], "prediction": [0.125, 1.0], "models": [0.25, -0.75],
    "others": [[1.0, -1.0], [1.0, 1.0]],
}  # fmt: skip


def test_two_updates_and_both_sensitivities():
    """``x = -(lambda I + rho D'D)^-1 D' (y + rho (sum D_k x_k - z))``."""
    found = update.compute_movement(document(MOVED, INSTANCE))
    v = np.array([0.5, -0.25]) + 0.5 * (
        np.array([1.0, -1.0]) * 0.25 + np.array([1.0, 1.0]) * -0.75 - np.array([0.125, 1.0])
    )
    ends, models = [], []
    for name in ("design", "neighbour"):
        d = np.array(INSTANCE[name])
        models.append(-np.linalg.solve(0.25 * np.eye(2) + 0.5 * d.T @ d, d.T @ v))
        ends.append(d @ models[-1])
    assert float(found.movement) == pytest.approx(np.linalg.norm(ends[0] - ends[1]))
    assert float(found.published) == pytest.approx(3 / (2 * 0.5) * (0.25 + (1 + 3 * 0.5) * 2))
    assert float(found.corrected) == pytest.approx(min(2 + 1 + 2 * 2**0.5, 2 * 2**0.5) * 2)
    values = {name: float(value) for name, (value, _) in found.assumptions.items()}
    assert values["bounded model"] == pytest.approx(np.linalg.norm(models[0]))
    assert values["bounded model of the neighbour"] == pytest.approx(np.linalg.norm(models[1]))
    assert values["bounded models of the others"] == 0.75
    assert values["bounded dual"] == pytest.approx(np.linalg.norm([0.5, -0.25]))
    assert values["bounded prediction"] == pytest.approx(np.linalg.norm([0.125, 1.0]))
    assert values["unit rows of the others"] == 0.0
    limits = {name: float(limit) for name, (_, limit) in found.assumptions.items()}
    assert {limit for name, limit in limits.items() if name.startswith("bounded")} == {2.0}


def test_a_diameter_below_that_of_all_designs_is_the_sensitivity():
    alone = MOVED | {"parties": 1, "penalty": 4.0}
    found = update.compute_movement(document(alone, INSTANCE | {"models": [], "others": []}))
    assert float(found.corrected) == pytest.approx((0.25 + 1) * 2)
    assert float(found.assumptions["bounded models of the others"][0]) == 0.0


def test_others_off_unit_rows_are_measured():
    crooked = INSTANCE | {"others": [[1.0, -1.0], [1.0, -0.25]]}
    found = update.compute_movement(document(MOVED, crooked)).assumptions["unit rows of the others"]
    assert float(found[0]) == 0.75


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"curvature": 2.0}, "curvature"),
        ({"regulariser_weight": 1e-26, "penalty": 0.125}, "regulariser_weight"),
    ],
)
def test_parameters_that_no_lemma_has(changes, field):
    with refused(rf"parameters\.{field}"):
        update.compute_movement(document(MOVED | changes, INSTANCE))


def test_equations_are_refused_above_1e25():
    update._well_conditioned(document({}), Real(1e25))
    with refused(r"parameters\.regulariser_weight"):
        update._well_conditioned(document({}), Real(2e25))


@pytest.mark.parametrize(
    ("columns", "dependent"),
    [
        ([[1, 0, 0], [0, 2, 0]], 0),
        ([[1, 0, 0], [3, 0, 0]], 1),
        ([[1, 0, 0], [1, 1e-7, 0]], 1),
        ([[1, 0, 0], [1, 1e-5, 0]], 0),
        ([[1, 1, 0], [1, -1, 0], [5, 3, 0]], 1),
        ([[0, 0, 0], [1, 0, 0]], 1),
    ],
)
def test_a_basis_leaves_out_what_depends(columns, dependent):
    basis, found = support._build_orthonormal_basis(Matrix(columns).T)
    assert (found, len(basis)) == (dependent, len(columns) - dependent)
    products = [[sum(a * b for a, b in zip(u, v, strict=True)) for v in basis] for u in basis]
    assert np.allclose(np.array(products, dtype=float), np.eye(len(basis)), atol=1e-12)


def test_a_message_is_so_far_from_the_other_columns():
    stated = ROWS | {"samples": 3}
    stored = {
        "design": [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]],
        "neighbour": [[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]],
        "model": [2.0, 0.5],
    }
    found = support.verify_message_support(document(stated, stored), Real(Fraction(1, 4)))
    d, other = np.array(stored["design"]), np.array(stored["neighbour"])
    sent = d @ [2.0, 0.5]
    rest = sent - other @ np.linalg.lstsq(other, sent, rcond=None)[0]
    far = np.linalg.norm(rest) / np.linalg.norm(sent)
    values = {name: float(one) for name, one in found.quantities.items()}
    assert values == pytest.approx(
        {"distance from the neighbour's columns": far, "delta at every epsilon": 1, "ratio": 4}
    )
    pairs = {name: (float(a), float(b)) for name, (a, b) in found.assumptions.items()}
    assert pairs["close neighbours entry by entry"] == pytest.approx((1.2, 1.0))
    assert pairs["output off the neighbour's columns"] == pytest.approx((1e-6, far))
    assert pairs["output on the dataset's columns"][1] == 1e-30
    assert pairs["independent columns"] == pairs["independent columns of the neighbour"] == (0, 0)
    with refused(r"instance\.model"):
        support.verify_message_support(document(stated, stored | {"model": [0.0, 0.0]}), Real(1))


# Iterations of hu2019

LOGISTIC_AT_2 = math.log(1 + math.exp(-2))
WRONG_AT_2 = 1 / (1 + math.exp(2))


@pytest.mark.parametrize(
    ("name", "prediction", "label", "value", "slope"),
    [
        ("squared", 3.0, -1.0, 8.0, 4.0),
        ("logistic", 2.0, 1.0, LOGISTIC_AT_2, -WRONG_AT_2),
        ("logistic", 2.0, -1.0, 2 + LOGISTIC_AT_2, 1 - WRONG_AT_2),
        ("smoothed-hinge", 0.25, 1.0, 0.75**2 / 2, -0.75),
        ("smoothed-hinge", -2.0, 1.0, 2.5, -1.0),
        ("smoothed-hinge", 2.0, -1.0, 2.5, 1.0),
        ("smoothed-hinge", 2.0, 1.0, 0.0, 0.0),
        ("sigmoid", 2.0, 1.0, WRONG_AT_2, -WRONG_AT_2 * (1 - WRONG_AT_2)),
        ("sigmoid", 2.0, -1.0, 1 - WRONG_AT_2, WRONG_AT_2 * (1 - WRONG_AT_2)),
    ],
)
def test_losses_of_one_prediction(name, prediction, label, value, slope):
    loss, at = iterations.LOSSES[name], (Real(prediction), Real(label))
    assert float(loss.value(*at)) == pytest.approx(value, rel=1e-14)
    assert float(loss.slope(*at)) == pytest.approx(slope, rel=1e-14)


@pytest.mark.parametrize(
    ("name", "smoothness", "least"),
    [
        ("squared", 1.0, 1.0),
        ("logistic", 0.25, 0.0),
        ("smoothed-hinge", 1.0, 0.0),
        ("sigmoid", 1 / (6 * 3**0.5), -1 / (6 * 3**0.5)),
    ],
)
def test_curvatures_of_losses(name, smoothness, least):
    loss = iterations.LOSSES[name]
    assert float(loss.smoothness()) == pytest.approx(smoothness)
    assert float(loss.least_curvature()) == pytest.approx(least)


SHARED = {
    "parties": 2, "samples": 3, "features": 1, "loss": "squared", "loss_weight": 0.75,
    "penalty": 2.0, "regulariser_weight": 0.5, "iteration": 1,
}  # fmt: skip
BLOCKS = {
    "designs": [[[1.0], [0.5], [-0.25]], [[0.5], [0.0], [2.0]]], "labels": [1.0, -1.0, 1.0],
    "models": [[0.5], [-1.0]], "prediction": [0.25, 1.0, -0.5], "dual": [1.0, 0.0, -2.0],
}  # fmt: skip


def shared(blocks=(), **changes):
    return document(SHARED | changes, BLOCKS | dict(blocks))


def test_the_numbers_of_assumption_1():
    found = iterations.problem_of(shared()).assumptions()
    tops = [1 + 0.25 + 0.0625, 0.25 + 4]
    values = {name: float(value) for name, (value, _) in found.items()}
    assert values == pytest.approx(
        {
            "full column rank": 0,
            "strongly convex parties": max(2 * top / (0.5 + 2 * top) for top in tops),
            "signed labels": 0,
            "penalty above smoothness": 0.375,
            "penalty against smoothness": 2 * 0.75**2 / (2 * 2.75),
        }
    )
    assert [float(limit) for _, limit in found.values()] == [0, 1, 0, 1, 1 - 1e-12]


@pytest.mark.parametrize(
    ("loss", "smoothness", "modulus"), [("logistic", 0.1875, 2.0), ("smoothed-hinge", 0.75, 2.0)]
)
def test_weights_and_penalties_of_other_losses(loss, smoothness, modulus):
    problem = iterations.problem_of(shared(loss=loss))
    assert (float(problem.smoothness), float(problem.modulus)) == (smoothness, modulus)
    least = [0.5 + 2 * (1 + 0.25 + 0.0625), 0.5 + 2 * 4.25]
    assert plain(problem.moduli) == pytest.approx(least)
    dominated = problem.assumptions()["penalty against smoothness"][0]
    assert float(dominated) == pytest.approx(2 * smoothness**2 / (2 * modulus))


def test_labels_and_ranks_are_counted():
    odd = iterations.problem_of(shared({"labels": [1.0, -1.5, 0.25]}))
    assert float(odd.assumptions()["signed labels"][0]) == 0.75
    flat = iterations.problem_of(shared({"designs": [[[0.0]] * 3, [[0.0]] * 3]}))
    assert flat.assumptions()["full column rank"] == (2, 0)


def test_a_penalty_that_leaves_several_minima_is_refused():
    """The least curvature of a sigmoid is -1 / (6 sqrt(3)), 0.0962 below 0."""
    iterations.problem_of(shared(loss="sigmoid", loss_weight=1.0, penalty=0.097))
    with refused(r"parameters\.penalty"):
        iterations.problem_of(shared(loss="sigmoid", loss_weight=1.0, penalty=0.096))


def one_iteration(models, z, y):
    """Return (6) of both parties at once, (7) of the squared loss and (8)."""
    designs = [np.array(one)[:, 0] for one in BLOCKS["designs"]]
    labels, weight, rho, ridge = np.array(BLOCKS["labels"]), 0.75, 2.0, 0.5
    sent = [d * x for d, x in zip(designs, models, strict=True)]
    new = [
        -(d @ (y + rho * (sum(sent) - sent[i] - z))) / (ridge + rho * d @ d)
        for i, d in enumerate(designs)
    ]
    reached = sum(d * x for d, x in zip(designs, new, strict=True))
    prediction = (weight * labels + y + rho * reached) / (weight + rho)
    return new, prediction, y + rho * (reached - prediction)


@pytest.mark.parametrize("number", [1, 3])
def test_iterations_and_the_lagrangian_are_those_of_the_formulas(number):
    problem = iterations.problem_of(shared())
    before, after = iterations.run_to_audited_step(shared(iteration=number), problem)
    state = [x for (x,) in BLOCKS["models"]], *(np.array(BLOCKS[n]) for n in ("prediction", "dual"))
    for _ in range(number):
        last, state = state, one_iteration(*state)
    for found, (models, z, y) in ((before, last), (after, state)):
        assert [float(x[0, 0]) for x in found.models] == pytest.approx(models)
        assert plain(found.prediction.entries()) == pytest.approx(z)
        assert plain(found.dual.entries()) == pytest.approx(y)
        gap = sum(np.array(d)[:, 0] * x for d, x in zip(BLOCKS["designs"], models, strict=True)) - z
        value = 0.75 * ((z - BLOCKS["labels"]) ** 2).sum() / 2 + 0.25 * np.square(models).sum()
        value += y @ gap + 2.0 / 2 * gap @ gap
        assert float(iterations.compute_lagrangian_real(problem, found)) == pytest.approx(value)


def test_no_more_iterations_than_50_and_no_dependent_columns():
    problem = iterations.problem_of(shared())
    with refused(r"parameters\.iteration"):
        iterations.run_to_audited_step(shared(iteration=51), problem)
    flat = shared({"designs": [[[0.0]] * 3, [[1.0]] * 3]}, regulariser_weight=0.0)
    with refused(r"instance\.designs"):
        iterations.run_to_audited_step(flat, iterations.problem_of(flat))


def test_steps_after_the_first_are_those_of_the_linear_map():
    """The step is that of the models, party by party, and then of the prediction."""
    problem = iterations.problem_of(shared())
    before, after = iterations.run_to_audited_step(shared(iteration=2), problem)
    step = growth._flatten_state_step(before, after)
    moved = [float((b - a)[0, 0]) for a, b in zip(before.models, after.models, strict=True)]
    moved += plain((after.prediction - before.prediction).entries())
    assert plain(step) == moved
    taken = growth.linear_map(problem)
    ahead = growth._flatten_state_step(after, iterations.run_sharing_iteration(problem, after))
    reached = [sum(taken[i, j] * step[j] for j in range(5)) for i in range(5)]
    assert plain(ahead) == pytest.approx(plain(reached), rel=1e-12)


def test_an_eigenvalue_is_enclosed_and_looked_for():
    taken, file = Matrix([[3, 1], [0, -2]]), document({"eigenvalue": 3.0, "samples": 1})
    low, high = growth._enclose_eigenvalue(file)
    assert low < 3 < high
    assert high - low < 1e-5
    growth._require_eigenvalue(file, taken, low, high)
    with refused(r"parameters\.eigenvalue"):
        growth._require_eigenvalue(file, taken, Real(3.5), Real(4))
    with refused(r"parameters\.eigenvalue"):
        growth._enclose_eigenvalue(document({"eigenvalue": 0.0}))


def test_a_step_has_to_have_a_part_that_grows():
    """Of diag(2, 3) the second entry alone is a prediction: its eigenvalue is 3."""
    taken, file = Matrix([[2, 0], [0, 3]]), document({"samples": 1})
    growth._require_part(file, taken, [Real(0), Real(1)], Real(3))
    for step, mu in ([[1, 0], 3], [[1, 1], 2]):
        with refused("instance"):
            growth._require_part(file, taken, [Real(x) for x in step], Real(mu))
