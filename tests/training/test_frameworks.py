"""Recipes of training with the libraries that people train with: `make training` installs them."""

import importlib
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import dpaudit

FOLDER = Path(__file__).parents[2] / "examples" / "training"
PROVED = 5.0228  # epsilon at delta = 1e-5 of a hundred steps, as the recipes take them


@pytest.fixture(autouse=True)
def recipes(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)


def of_the_page(recipe):
    """Return what docs/training.md has of a recipe: certified, if Gaussian, estimate."""
    page = (FOLDER.parents[1] / "docs" / "training.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {re.escape(recipe)} \|.*%.*$", page, re.MULTILINE)
    certified, whole, share, estimate = re.findall(r"[\d.]+", row.removeprefix(f"| {recipe} |"))
    assert float(share) == pytest.approx(100 * float(whole) / PROVED, abs=0.6)
    return float(certified), float(whole), float(estimate)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Secure RNG turned off", "ignore:Full backward hook is firing")
@pytest.mark.filterwarnings("ignore:optax.global_norm is deprecated")
@pytest.mark.parametrize(
    ("family", "needed", "recipe"),
    [
        ("numpy", "numpy", "plain numpy"),
        ("sklearn", "sklearn", "scikit-learn, `partial_fit`"),
        ("torch", "torch", "a CNN in torch"),
        ("opacus", "opacus", "Opacus"),
        ("jax", "jax_privacy", "JAX Privacy"),
    ],
)
def test_medians_of_five_runs_are_those_of_the_page(family, needed, recipe, monkeypatch, capsys):
    """What ``python canaries.py FAMILY`` prints; chips differ in last digits, hence in a guess."""
    pytest.importorskip(needed, reason=f"make training installs {needed}")
    audit, results = dpaudit.audit_scores, []

    def kept(*scores, **how):
        results.append(audit(*scores, **how))
        return results[-1]

    monkeypatch.setattr(dpaudit, "audit_scores", kept)
    monkeypatch.setattr(sys, "argv", ["canaries.py", family])
    runpy.run_path(str(FOLDER / "canaries.py"), run_name="__main__")
    certified, whole, independent = map(float, re.findall(r"[\d.]+\d", capsys.readouterr().out))
    assert [one.measured.lower < PROVED for one in results] == [True] * 5
    assert 1.2 < certified < whole < PROVED
    assert whole > 0.4 * PROVED
    assert independent == pytest.approx(PROVED, rel=0.15)
    assert (certified, whole, independent) == pytest.approx(of_the_page(recipe), rel=0.06)


@pytest.mark.slow
def test_a_dirac_canary_of_a_cnn_attains_what_is_proved():
    pytest.importorskip("torch", reason="make training installs torch")
    import torch_cnn
    from numpy_steps import audited

    steps = 10
    result = audited(
        lambda *run: torch_cnn.train(*run, steps)[..., 0],
        lambda records: torch_cnn.COUNT in records,
        (np.arange(torch_cnn.COUNT + 1), np.arange(torch_cnn.COUNT)),
        steps,
    )
    assert result.verdict == "not refuted"
    assert all(check.passed for check in result.self_checks), result.self_checks
    assert 0.95 * result.claimed.epsilon < result.measured.lower <= result.claimed.epsilon


def test_a_canary_of_a_cnn_is_dirac_and_clipped_wherever_training_goes():
    """Ten weights are its alone, where its gradient is longer than the clip: the law's terms."""
    torch = pytest.importorskip("torch", reason="make training installs torch")
    import torch_cnn as cnn

    weights = cnn.NET + 10
    torch.manual_seed(0)
    blank, rare = torch.zeros(64), 5 * cnn.CLIP * torch.ones(1)
    for scale in (0.1, 0.3):  # a hundred steps move a weight by 0.1, one standard deviation
        model = scale * torch.randn(weights)
        own = torch.func.grad(cnn.loss)(model, blank, rare, torch.tensor(0))
        assert not own[: cnn.NET].any()
        assert own.norm() > cnn.CLIP
        images = torch.func.vmap(torch.func.grad(cnn.loss), (None, 0, None, 0))(
            model, cnn.IMAGES, torch.zeros(1), cnn.LABELS
        )
        assert not images[:, cnn.NET :].any()
        assert (images[:, : cnn.NET].norm(dim=1) > 0).all()


@pytest.mark.slow
def test_a_cnn_that_samples_at_another_rate_is_noticed(monkeypatch):
    """The law that certifies is tested on what the training shows."""
    pytest.importorskip("torch", reason="make training installs torch")
    import torch_cnn as cnn
    from numpy_steps import audited

    monkeypatch.setattr(cnn, "RATE", cnn.RATE)  # put back, if training runs in this process

    def seen(*run):
        cnn.RATE = 0.5  # where training runs: a process of its own imports the module anew
        return cnn.train(*run, 4)[..., 0]

    pair = np.arange(cnn.COUNT + 1), np.arange(cnn.COUNT)
    result = audited(seen, lambda records: cnn.COUNT in records, pair, 4, 2000)
    assert not all(check.passed for check in result.self_checks)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Secure RNG turned off", "ignore:Full backward hook is firing")
@pytest.mark.parametrize(
    ("family", "needed", "name", "trials"),
    [
        ("torch", "torch", "clipping per parameter", 40_000),
        ("torch", "torch", "loss averaged before clipping", 40_000),
    ],
)
def test_a_twin_of_a_framework_is_refuted_and_the_right_one_is_not(family, needed, name, trials):
    pytest.importorskip(needed, reason=f"make training installs {needed}")
    import twins

    module = importlib.import_module(f"{family}_twins")
    broken, right = twins.audited(name, module.TWINS, trials)
    assert (broken.verdict, right.verdict) == ("refuted", "not refuted"), broken.reason


@pytest.mark.filterwarnings("ignore:Secure RNG turned off", "ignore:Full backward hook is firing")
def test_an_observer_of_opacus_sees_the_sum_and_leaves_the_accountant_its_hook():
    torch = pytest.importorskip("torch", reason="make training installs torch")
    opacus = pytest.importorskip("opacus", reason="make training installs opacus")
    from dpaudit.adapters.opacus import OpacusNoisyGradients

    rows = torch.eye(4)
    model = torch.nn.Linear(4, 1, bias=False)
    engine = opacus.PrivacyEngine()
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.0),
        data_loader=torch.utils.data.DataLoader(torch.utils.data.TensorDataset(rows), batch_size=4),
        noise_multiplier=1e-9,
        max_grad_norm=0.5,
    )
    seen = OpacusNoisyGradients(optimizer)
    for (batch,) in loader:
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()
    # All four gradients are clipped from 1 to 0.5, summed, and shown in units of 0.5.
    np.testing.assert_allclose(seen.steps, [np.ones(4)], atol=1e-4)
    assert len(engine.accountant) == 1


def test_an_observer_of_jax_privacy_sees_the_sum():
    jax = pytest.importorskip("jax", reason="make training installs jax")
    pytest.importorskip("jax_privacy", reason="make training installs jax-privacy")
    from jax_privacy import noise_addition

    from dpaudit.adapters.jax_privacy import JaxNoisyGradients

    noise = JaxNoisyGradients(noise_addition.gaussian_privatizer(stddev=1e-9, prng_key=0), 0.5)
    given = {"a": jax.numpy.ones(2), "b": jax.numpy.full((1, 1), 2.0)}
    noisy, _ = noise.update(given, noise.init(given))
    np.testing.assert_allclose(noise.steps, [[2.0, 2.0, 4.0]], atol=1e-6)
    np.testing.assert_allclose(noisy["a"], 1.0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Secure RNG turned off", "ignore:Full backward hook is firing")
@pytest.mark.filterwarnings("ignore:Optimal order is the")
def test_ten_lines_of_opacus_print_what_the_page_shows(capsys):
    pytest.importorskip("opacus", reason="make training installs opacus")
    runpy.run_path(str(FOLDER / "opacus_ten_lines.py"), run_name="__main__")
    numbers = [float(one) for one in re.findall(r"\d+\.\d+", capsys.readouterr().out)]
    stated, lower, claim, same = numbers
    page = (FOLDER.parents[1] / "docs" / "training.md").read_text(encoding="utf-8")
    shown = re.search(r"not refuted: claimed ([\d.]+), at least ([\d.]+)\nrefuted:", page)
    assert (stated, claim) == (float(shown[1]), 0.5)
    assert lower == same == pytest.approx(float(shown[2]), abs=0.3)
    assert claim < lower < stated
