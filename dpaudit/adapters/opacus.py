"""Steps of Opacus as mechanisms: its sampler, its clipping and its noise.

Opacus draws from generators of torch. Here both the sampler and the noise are given one that is
seeded from the audit's generator, so that one seed gives one result; in secure mode Opacus would
take a cryptographic generator, and the arithmetic of the noise, which is what is audited, is the
same. A step takes about a tenth of a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.adapters._calls import collect_call_outputs, convert_library_import_errors
from dpaudit.errors import InvalidArgument
from dpaudit.redaction import Record

_SEEDS = 2**31


@dataclass(frozen=True)
class OpacusStep:
    """A step of DP-SGD on per-sample gradients: the noisy sum that Opacus hands to an optimizer.

    Parameters
    ----------
    noise_multiplier, max_grad_norm
        As ``DPOptimizer`` takes them.
    sample_rate
        With which Opacus's ``UniformWithReplacementSampler`` takes each record into the step; None
        for a step on all of them.
    secure_mode
        Whether noise is the sum of four draws, as in Opacus's secure mode.

    Examples
    --------
    With ``pip install 'dpaudit[opacus]'``, in a module that a TOML file names as
    ``mechanism = "my_module:mechanism"``; records are gradients, one row each::

        from dpaudit.adapters.opacus import OpacusStep

        mechanism = OpacusStep(noise_multiplier=1.0, max_grad_norm=1.0, sample_rate=0.1)
    """

    noise_multiplier: float
    max_grad_norm: float = 1.0
    sample_rate: float | None = None
    secure_mode: bool = False

    def __post_init__(self) -> None:
        check.require_positive("noise_multiplier", self.noise_multiplier)
        check.require_positive("max_grad_norm", self.max_grad_norm)
        if self.sample_rate is not None:
            check.require_probability("sample_rate", self.sample_rate)

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return noisy sums, shape ``(trials, dimension)``, of gradients ``(records, dimension)``.

        Raises
        ------
        InvalidArgument
            The dataset is no matrix of numbers.
        """
        gradients = np.asarray(dataset, dtype=np.float64)
        if gradients.ndim != 2:
            raise InvalidArgument("dataset", Record(dataset), "gradients, one row for each record")
        with convert_library_import_errors("opacus", "opacus"):
            step = self._stepper(gradients, int(rng.integers(_SEEDS)))
        return collect_call_outputs(lambda _: step(), trials)

    def _stepper(self, gradients: Array, seed: int) -> Callable[[], Any]:
        import torch
        from opacus.optimizers import DPOptimizer
        from opacus.utils.uniform_sampler import UniformWithReplacementSampler

        # One generator for sampler and noise, as in a training: both go on from call to call.
        generator = torch.Generator().manual_seed(seed)
        # Single precision, as Opacus computes by default: the arithmetic of the noise is part of
        # what is audited.
        rows = torch.tensor(gradients, dtype=torch.float32)

        def batch() -> Any:
            if self.sample_rate is None:
                return rows.clone()  # it is marked as used
            (indices,) = UniformWithReplacementSampler(
                num_samples=len(rows), sample_rate=self.sample_rate, generator=generator, steps=1
            )
            return rows[indices]

        def step() -> Any:
            weights = torch.nn.Parameter(torch.zeros(rows.shape[1]))
            optimizer = DPOptimizer(
                torch.optim.SGD([weights], lr=1.0),
                noise_multiplier=self.noise_multiplier,
                max_grad_norm=self.max_grad_norm,
                expected_batch_size=None,
                loss_reduction="sum",
                generator=generator,
                secure_mode=self.secure_mode,
            )
            weights.grad_sample = batch()
            optimizer.step()
            return weights.grad.numpy()

        return step


@dataclass(frozen=True)
class OpacusTraining:
    """A training with Opacus, run anew in every trial.

    Parameters
    ----------
    train
        ``train(dataset)`` trains with a ``PrivacyEngine`` and returns all that is published, as
        numbers: the weights. Torch's own generator is seeded before each call.

    Examples
    --------
    Any function of a dataset that draws from torch will do::

        mechanism = OpacusTraining(my_training)
    """

    train: Callable[[Any], Any]

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return the published outputs, shape ``(trials, ...)``."""
        with convert_library_import_errors("torch", "opacus"):
            import torch
        seeds = rng.integers(_SEEDS, size=trials).tolist()

        def train_trial(trial: int) -> Any:
            torch.manual_seed(seeds[trial])
            return self.train(dataset)

        return collect_call_outputs(train_trial, trials)


class OpacusNoisyGradients:
    """An observer of every noisy sum of clipped gradients that a ``DPOptimizer`` steps with.

    It is a step hook, which comes after clipping and noise and before the step. A hook that was
    there, such as that of a ``PrivacyEngine``'s accountant, is called first.

    Parameters
    ----------
    optimizer
        What ``PrivacyEngine.make_private`` returns.

    Attributes
    ----------
    steps
        One array a step, of all parameters in the optimizer's order, in units of the clipping norm:
        what a mean was divided by is multiplied back.

    Examples
    --------
    ::

        model, optimizer, loader = PrivacyEngine().make_private(...)
        seen = OpacusNoisyGradients(optimizer)
        ...  # train
        np.array(seen.steps)  # shape (steps, parameters)
    """

    def __init__(self, optimizer: Any) -> None:
        self.steps: list[Array] = []
        self._before = optimizer.step_hook
        optimizer.attach_step_hook(self)

    def __call__(self, optimizer: Any) -> None:
        """Keep the noisy sum of this step."""
        if self._before is not None:
            self._before(optimizer)
        parts = [one.grad.detach().cpu().numpy().ravel() for one in optimizer.params]
        noisy = np.concatenate(parts).astype(np.float64)
        # Opacus divides the noisy sum by the expected batch size and the accumulated iterations.
        if optimizer.loss_reduction == "mean":
            noisy *= optimizer.expected_batch_size * optimizer.accumulated_iterations
        self.steps.append(noisy / optimizer.max_grad_norm)
