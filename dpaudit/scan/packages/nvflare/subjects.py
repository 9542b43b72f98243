"""NVFlare's differentially private filter, called as NVFlare's runtime calls it."""

import logging
import signal
from contextlib import contextmanager

import numpy as np
from nvflare.apis.dxo import DXO, DataKind, MetaKey
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.filters.svt_privacy import SVTPrivacy

logging.getLogger("SVTPrivacy").setLevel(logging.CRITICAL)
logging.getLogger("nvflare").setLevel(logging.CRITICAL)


@contextmanager
def ending_within(seconds):
    def stop(*_):
        raise TimeoutError(f"no answer within {seconds} seconds")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)


def svt_privacy(data, fraction, epsilon, noise_var, gamma, tau, replace=True, steps=1, dtype=None):
    update = np.asarray(data[0], dtype=dtype or "float64")
    dxo = DXO(DataKind.WEIGHT_DIFF, {"weights": update}, {MetaKey.NUM_STEPS_CURRENT_ROUND: steps})
    filtered = SVTPrivacy(fraction, epsilon, noise_var, gamma, tau, replace=replace)
    with ending_within(0.2):
        sent = filtered.process_dxo(dxo, Shareable(), FLContext())
    passes = sent.get_meta_prop("svt_privacy_budget")["acceptance_passes"]
    return {"weights": sent.data["weights"].tolist(), "acceptance_passes": passes}
