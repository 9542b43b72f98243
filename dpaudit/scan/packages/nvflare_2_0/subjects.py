"""NVFlare 2.0's differentially private filter, called as its runtime calls it."""

import logging

import numpy as np
from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.fl_context import FLContext
from nvflare.app_common.filters.svt_privacy import SVTPrivacy

logging.disable(logging.CRITICAL)


def svt_privacy(data, **parameters):
    update = DXO(DataKind.WEIGHT_DIFF, {"weights": np.array(data[0], dtype=float)})
    sent = SVTPrivacy(**parameters).process(update.to_shareable(), FLContext())
    return from_shareable(sent).data["weights"].tolist()
