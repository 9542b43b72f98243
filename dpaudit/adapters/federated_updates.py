"""The updates that leave a client of Flower or of NVFlare, as a mechanism.

Both draw from numpy's global generator. It is seeded from the audit's generator for a call, and put
back as it was, so that one seed gives one result.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.adapters._calls import collect_call_outputs, convert_library_import_errors
from dpaudit.errors import InvalidArgument

# All that numpy's old generator takes for a seed.
_SEEDS = 2**32


@dataclass(frozen=True)
class FlowerMod:
    """A client's update behind a mod of Flower, such as ``LocalDpMod``.

    The dataset is the update, an array; the model that the server sent is zero.

    Parameters
    ----------
    build
        Returns the mod; called once a batch.

    Examples
    --------
    With flwr installed, which asks for older versions of typer than dpaudit's command line::

        from flwr.clientapp.mod import LocalDpMod
        from dpaudit.adapters.federated_updates import FlowerMod

        mechanism = FlowerMod(lambda: LocalDpMod(1.0, 2.0, epsilon=1.0, delta=1e-5))
    """

    build: Callable[[], Any]

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return the sent updates, shape ``(trials, *update.shape)``."""
        update = np.asarray(dataset, dtype=np.float64)
        with convert_library_import_errors("flwr", "flower"):
            mod, send = self.build(), _flower_client(update)
        with _set_numpy_seed(rng), _silence_logger("flwr"):
            return collect_call_outputs(lambda _: send(mod), trials)


def _flower_client(update: Array) -> Callable[[Any], Any]:
    from flwr.app import ArrayRecord, Message, RecordDict

    _name_flower_task()

    def content(values: Array) -> Any:
        return RecordDict({"arrays": ArrayRecord([values])})

    def send(mod: Any) -> Any:
        # The server's model is zero, so that what the mod takes for the update is the client's
        # reply itself.
        message = Message(content(np.zeros_like(update)), dst_node_id=1, message_type="train")
        reply = mod(message, None, lambda sent, _: Message(content(update), reply_to=sent))
        (sent,) = reply.content["arrays"].to_numpy_ndarrays()
        return sent

    return send


def _name_flower_task() -> None:
    """Set the fields that messages ask for, as Flower's runtime would; older versions have none."""
    try:
        from flwr.supercore.task_identity import TaskIdentity
    except ImportError:
        return
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1


@dataclass(frozen=True)
class NVFlareFilter:
    """A client's update behind a filter of NVFlare, such as ``SVTPrivacy``.

    The dataset is the update, an array.

    Parameters
    ----------
    build
        Returns the filter; called once a batch.

    Examples
    --------
    With ``pip install 'dpaudit[nvflare]'``::

        from nvflare.app_common.filters.svt_privacy import SVTPrivacy
        from dpaudit.adapters.federated_updates import NVFlareFilter

        mechanism = NVFlareFilter(lambda: SVTPrivacy(fraction=0.5, gamma=1.0, tau=0.1))
    """

    build: Callable[[], Any]

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return the sent updates, shape ``(trials, *update.shape)``."""
        update = np.asarray(dataset, dtype=np.float64)
        with convert_library_import_errors("nvflare", "nvflare"):
            kept, send = self.build(), _nvflare_client(update)
        with _set_numpy_seed(rng), _silence_logger("nvflare"):
            return collect_call_outputs(lambda _: send(kept), trials)


def _nvflare_client(update: Array) -> Callable[[Any], Any]:
    from nvflare.apis.dxo import DXO, DataKind
    from nvflare.apis.fl_context import FLContext
    from nvflare.apis.shareable import Shareable

    def send(kept: Any) -> Any:
        filtered = kept.process_dxo(
            DXO(DataKind.WEIGHT_DIFF, {"update": update.copy()}), Shareable(), FLContext()
        )
        if filtered is None:
            raise InvalidArgument("filter", kept, "a client that sends something")
        return filtered.data["update"]

    return send


@contextmanager
def _silence_logger(name: str) -> Iterator[None]:
    """Keep a logger to errors, which would write lines for every call."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _set_numpy_seed(rng: Generator) -> Iterator[None]:
    """Seed numpy's global generator, which these libraries draw from, and put it back."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(int(rng.integers(_SEEDS)))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
