"""Views by name, who learns how much about whom, and observers as mechanisms to audit."""

from __future__ import annotations

import importlib.util
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dpaudit.accounting.accountants import ask_all, select_strongest_answer
from dpaudit.accounts.account import account
from dpaudit.affine.watching import Watching
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.multistep.hidden_state import InnerLoops, averages_mu, last_affine_mu
from dpaudit.algorithms.problems.graphs import path as path_of
from dpaudit.algorithms.problems.graphs import ring, star
from dpaudit.algorithms.problems.losses import LINEAR
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize
from dpaudit.algorithms.views.gossip import Gossip
from dpaudit.algorithms.views.releases import (
    ConsensusView,
    GossipView,
    MultiStepView,
    SharingView,
    build_learning_grid,
    make_observer_event,
)
from dpaudit.cli.main import app
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.plots import Grid, render_curves_csv, render_picture

EXAMPLE = Path(__file__).parents[3] / "examples" / "views.py"
MODELS = (GossipView, ConsensusView, MultiStepView, SharingView)


def mu_of(event):
    return event.count * event.sensitivity / event.noise_scale


def test_a_gossip_view_is_the_view():
    network = Gossip(star(4), iterations=6, noise_scale=0.5).network()
    for observer in (0, 2, 3):
        exact = network.view(network.coalition(observer), [0, 3, 0, 0]).mu.upper
        given = GossipView(
            nodes=4, graph="star", iterations=6, noise_scale=0.5, sensitivity=3.0, about=1,
            observer=(observer,),
        )  # fmt: skip
        assert mu_of(make_observer_event(given)) == pytest.approx(exact, rel=1e-12)
    wire = network.view(network.eavesdropper(), [0, 3, 0, 0]).mu.upper
    assert mu_of(make_observer_event(given.model_copy(update={"observer": ()}))) == pytest.approx(
        wire, rel=1e-12
    )


def test_one_broadcast_of_consensus_admm_is_one_gaussian_in_closed_form():
    """f = (b + noise 2 eta V) / (2 eta V + rho/N): primal noise is added after, dual before."""
    given = ConsensusView(iterations=1, noise="primal", records=10, loss_weight=3.0)
    unit = 2 * given.penalty * 2 + given.regulariser_weight / given.nodes
    change = 2 * 3.0 / 10
    assert mu_of(make_observer_event(given)) == pytest.approx(
        change / unit / given.noise_scale, rel=1e-12
    )
    dual = given.model_copy(update={"noise": "dual"})
    expected = change / (2 * given.penalty * 2 * given.noise_scale)
    assert mu_of(make_observer_event(dual)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("message", "mu"), [("average", averages_mu), ("last", last_affine_mu)], ids=["average", "last"]
)
def test_who_reads_all_messages_of_multi_step_admm_learns_what_is_proved_of_them(message, mu):
    """Two derivations: exact linear forms, and a chain of the node's own models."""
    given = MultiStepView(iterations=4, inner_steps=3, nodes=4, message=message, observer=())
    algorithm = MultiStepADMM(
        graph=ring(4), iterations=4, inner_steps=3, noise_multiplier=given.noise_scale,
        penalty=given.penalty, loss=LINEAR, regulariser_weight=given.regulariser_weight,
        step_size=ConstantStepSize(given.step_size), message=message,
    )  # fmt: skip

    class Sizes:
        node_sizes, dimension = (1,) * 4, 1

    expected = mu(InnerLoops.of(algorithm, Sizes, 0), given.regulariser_weight / 4)
    assert mu_of(make_observer_event(given)) == pytest.approx(expected, rel=1e-9)


def test_noise_is_in_inverse_proportion_to_mu():
    for model in MODELS:
        one = model(iterations=2)
        other = one.model_copy(update={"noise_scale": 2 * one.noise_scale})
        assert mu_of(make_observer_event(one)) == pytest.approx(
            2 * mu_of(make_observer_event(other)), rel=1e-9
        )


def test_who_knows_without_error_is_said_in_words():
    with pytest.raises(InvalidArgument, match=r"^observer: .*mu is infinite"):
        make_observer_event(GossipView(observer=0))
    with pytest.raises(InvalidArgument, match=r"^observer: .*mu is infinite"):
        make_observer_event(SharingView(observer=(0, 1, 2)))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (GossipView(about=5), "about"),
        (GossipView(observer=5), "observer"),
        (SharingView(about=3), "about"),
        (GossipView(edges=((0, 9),)), "edges"),
    ],
)
def test_arguments_are_refused_by_name(given, named):
    with pytest.raises(InvalidArgument, match=rf"^{named}: "):
        make_observer_event(given)


def test_who_is_cut_off_learns_nothing():
    """Three rounds do not reach the other side of a long line."""
    line = tuple((i, i + 1) for i in range(7))
    given = GossipView(nodes=8, edges=line, iterations=3, observer=7)
    assert make_observer_event(given).count == 0
    assert mu_of(make_observer_event(given.model_copy(update={"iterations": 8}))) > 0


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_the_table_has_the_epsilon_of_every_view(model):
    found = build_learning_grid(model(iterations=2), 1e-5)
    assert len(found.rows) == model().participants
    for about, row in enumerate(found.values[:2]):
        for observer, value in enumerate(row):
            seen = () if observer == len(row) - 1 else (observer,)
            given = model(iterations=2, about=about, observer=seen)
            if math.isinf(value):
                with pytest.raises(InvalidArgument, match="mu is infinite"):
                    make_observer_event(given)
            else:
                best = select_strongest_answer(ask_all(make_observer_event(given), 1e-5))
                assert value == pytest.approx(best.upper, rel=1e-6, abs=1e-12)


def test_a_table_of_mu_is_symmetric_where_the_graph_is():
    network = Gossip(ring(4), iterations=3, noise_scale=Fraction(1, 2)).network()
    changes = {f"node {i}": np.eye(4, dtype=int)[i].tolist() for i in range(4)}
    values = np.array(network.who_learns(changes).values)
    assert np.isinf(np.diagonal(values)).all()
    assert values[0, 1] == pytest.approx(values[0, 3]) == pytest.approx(values[2, 1])
    assert values[0, 2] < values[0, 1] < values[0, 4]


def test_grids_become_pictures_and_tables():
    drawn = Grid(
        title="t", x_label="x", y_label="y", rows=["a"], columns=["b", "c"], values=[[1, math.inf]]
    )
    assert render_picture("one", [drawn], "svg") == render_picture("one", [drawn], "svg")
    assert render_picture("one", [drawn], "png").startswith(b"\x89PNG")
    assert "\u221e" in render_picture("one", [drawn], "svg").decode() or b"221e" in render_picture(
        "one", [drawn], "svg"
    )
    assert render_curves_csv([drawn]).splitlines()[1:] == ["t,a,b,1,,", "t,a,c,inf,,"]
    with pytest.raises(InvalidArgument, match=r"^grid t: "):
        Grid(title="t", x_label="", y_label="", rows=["a"], columns=["b"], values=[[1, 2]])


def test_the_command_draws_who_learns_how_much(tmp_path):
    ran = CliRunner().invoke(
        app, ["account", "sharing-view", "--out", str(tmp_path), "--set", "observer=0", "--quiet"]
    )
    assert ran.exit_code == 0, ran.output
    rows = (tmp_path / "account-sharing-view.csv").read_text().splitlines()
    assert any(row.startswith("who learns how much: epsilon at delta = 1e-05,") for row in rows)
    assert (tmp_path / "account-sharing-view.png").stat().st_size > 10_000
    said = json.loads((tmp_path / "account-sharing-view.json").read_text())
    assert said["relation"] == "replace-label"


def test_a_file_of_views_says_of_each_whose_data_who_looks_and_mu(tmp_path):
    """Two runs: mu add up as squares."""
    path = tmp_path / "views.toml"
    path.write_text(
        '[[release]]\nkind = "gossip-view"\nnodes = 4\ngraph = "path"\nobserver = 3\n'
        '[[release]]\nkind = "gossip-view"\nnodes = 4\nedges = [[0, 1], [1, 2], [2, 3], [3, 0]]\n'
        "iterations = 1\nnoise_scale = 2.0\n"
    )
    found = account(str(path))
    network = Gossip(path_of(4), iterations=10).network()
    far = network.view(network.coalition(3), [1, 0, 0, 0]).mu.upper
    both = GaussianDP(math.hypot(far, 0.5)).epsilon(1e-5)
    assert found.proved.upper == pytest.approx(both, rel=1e-6)
    assert [words.split(", as seen by ")[0] for words in found.words] == [
        "The data of node 0 alone"
    ] * 2
    assert found.words[1].endswith("as seen by node 1: exactly Gaussian, mu = 0.5.")
    ran = CliRunner().invoke(app, ["account", str(path)])
    assert "as seen by node 1: exactly Gaussian, mu = 0.5." in " ".join(ran.output.split())
    assert list(found.words) == found.document()["words"]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("edges", GossipView(edges=((0, 1),))),  # the others are alone
        ("edges", GossipView(nodes=2, edges=((0, 2),))),
        ("edges", GossipView(nodes=2, edges=((0, 1), (1, 1)))),
        ("about", GossipView(about=5)),
        ("observer", GossipView(observer=(5,))),
        ("observer", GossipView(observer=(1, 0))),
        ("features", SharingView(observer=(0,), features=((1.0, 2.0, 3.0), (1.0,)))),
        ("features", SharingView(observer=(0,), blocks=(1, 1))),
        ("block_sizes", SharingView(observer=(0,), blocks=(3, 0))),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_by_name(name, given):
    with pytest.raises(InvalidArgument) as caught:
        make_observer_event(given)
    assert caught.value.name == name


def test_what_is_accounted_for_is_not_below_mu():
    """As a sensitivity, mu is not rounded; as 1 / noise it would be."""
    for scale in (0.3, 0.7, 1.1, 3.0):
        network = Gossip(ring(5), iterations=4, noise_scale=scale).network()
        exact = network.view(network.coalition(1), [1, 0, 0, 0, 0]).mu.upper
        event = make_observer_event(GossipView(iterations=4, noise_scale=scale))
        assert (event.sensitivity, event.noise_scale) == (exact, 1.0)


def test_python_accounts_for_them_too():
    found = account("gossip-view", 1e-5, iterations=1, noise_scale=2.0)
    assert found.proved.upper == pytest.approx(GaussianDP(0.5).epsilon(1e-5), rel=1e-6)


# An observer as a mechanism


def example():
    spec = importlib.util.spec_from_file_location("views_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_seen_has_the_moments_of_the_view():
    seen = example().watched(2)
    noise, moved = seen.view.moments()
    change = np.array([[0.0], [1.0], [0.0], [0.0], [0.0]])
    drawn = [seen.sample(scale * change, 50_000, np.random.default_rng(0)) for scale in (0, 1)]
    assert drawn[1].mean(axis=0) - drawn[0].mean(axis=0) == pytest.approx(moved, abs=1e-9)
    assert np.cov(drawn[0].T) == pytest.approx(noise @ noise.T, abs=0.1)


@pytest.mark.parametrize(("observer", "verdict"), [(0, "refuted"), (2, "not refuted")])
def test_claimed_proved_and_measured_side_by_side(observer, verdict):
    result = example().audited(observer, trials=4_000)
    proved = example().watched(observer).view.mu.upper
    assert result.verdict == verdict
    assert 0.6 * proved < result.lower <= proved
    assert f"{proved:.4g}" in str(result)


def test_half_of_what_is_proved_is_refuted():
    module = example()
    seen = module.watched(2)
    import dpaudit

    data = np.zeros((5, 1)), np.array(module.CHANGE, dtype=float)[:, None]
    claim = GaussianDP(0.5 * seen.view.mu.upper)
    result = dpaudit.audit(seen, *data, claim=claim, trials=20_000)
    assert result.verdict == "refuted"


def test_watching_refuses_by_name():
    seen = example().watched(0)
    with pytest.raises(InvalidArgument, match=r"^shape: "):
        Watching(seen.network, seen.view, seen.run, (3,))
    network = seen.network
    own = Watching(
        network, network.view(network.coalition(1), [0, 1, 0, 0, 0]), seen.run, seen.shape
    )
    with pytest.raises(InvalidArgument, match=r"^view: .*infinite"):
        own.release  # noqa: B018
