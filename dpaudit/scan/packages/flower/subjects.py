"""Flower's differential privacy, as its documentation tells to use it.

A client's update is a tuple of numbers. A layout says how a model holds it: as one vector; or as a
vector and, last, a parameter that is one number without a dimension, such as a learned temperature.
"""

import logging
from types import SimpleNamespace

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp.mod import LocalDpMod, adaptiveclipping_mod, fixedclipping_mod
from flwr.serverapp.strategy import (
    DifferentialPrivacyClientSideAdaptiveClipping,
    DifferentialPrivacyClientSideFixedClipping,
    DifferentialPrivacyServerSideAdaptiveClipping,
    DifferentialPrivacyServerSideFixedClipping,
    FedAvg,
)
from flwr.supercore.task_identity import TaskIdentity

logging.getLogger("flwr").setLevel(logging.CRITICAL)
TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1  # as Flower's runtime does


def make_array_record(update, layout="vector", dtype="float64"):
    values = np.atleast_1d(np.asarray(update, dtype="float64"))
    if dtype == "int64":
        values = np.nan_to_num(values)
    with np.errstate(all="ignore"):  # a number that is too large for the type becomes infinite
        values = values.astype(dtype)
    if layout == "vector":
        return ArrayRecord({"weights": Array(values)})
    return ArrayRecord({"weights": Array(values[:-1]), "scale": Array(np.asarray(values[-1]))})


def convert_record_to_lists(record):
    return {name: array.numpy().tolist() for name, array in record.items()}


def local_dp_mod(
    data, clipping_norm, sensitivity, epsilon, delta, layout="vector", dtype="float64"
):
    mod = LocalDpMod(clipping_norm, sensitivity, epsilon, delta)
    start = make_array_record(np.zeros_like(np.atleast_1d(data[0])), layout, dtype)
    message = Message(RecordDict({"arrays": start}), dst_node_id=1, message_type="train")

    def train(received, _):
        return Message(
            RecordDict({"arrays": make_array_record(data[0], layout, dtype)}), reply_to=received
        )

    return convert_record_to_lists(mod(message, None, train).content["arrays"])


def grid_of(clients):
    return SimpleNamespace(get_node_ids=lambda: list(range(clients)))


def make_fed_avg(sampled):
    return FedAvg(fraction_train=1e-3, min_train_nodes=sampled, fraction_evaluate=0.0)


def one_round(strategy, data, layout, dtype, mod=None):
    start = make_array_record(np.zeros_like(np.atleast_1d(data[0])), layout, dtype)
    messages = strategy.configure_train(1, start, ConfigRecord(), grid_of(len(data)))

    def train(received, _):
        update = make_array_record(data[received.metadata.dst_node_id], layout, dtype)
        content = {"arrays": update, "metrics": MetricRecord({"num-examples": 1})}
        return Message(RecordDict(content), reply_to=received)

    replies = [mod(one, None, train) if mod else train(one, None) for one in messages]
    arrays, metrics = strategy.aggregate_train(1, replies)
    if arrays is None:
        return None
    return {"arrays": convert_record_to_lists(arrays), "metrics": dict(metrics)}


def make_rdp_accountant(clients):
    from flwr.supercore.privacy_accounting import (
        NeighboringRelation,
        PrivacyConfig,
        SamplingMethod,
    )
    from flwr.supercore.privacy_accounting.rdp_accountant import RdpAccountant

    relation, sampling = NeighboringRelation.ADD_OR_REMOVE_ONE, SamplingMethod.NO_AMPLIFICATION
    return RdpAccountant(PrivacyConfig(1e-5, clients, relation, sampling))


def server_side_fixed_clipping(
    data,
    noise_multiplier,
    clipping_norm,
    num_sampled_clients,
    layout="vector",
    dtype="float64",
    accounted=False,
):
    strategy = DifferentialPrivacyServerSideFixedClipping(
        make_fed_avg(num_sampled_clients),
        noise_multiplier,
        clipping_norm,
        num_sampled_clients,
        accountant=make_rdp_accountant(num_sampled_clients) if accounted else None,
    )
    return one_round(strategy, data, layout, dtype)


def client_side_fixed_clipping(
    data, noise_multiplier, clipping_norm, num_sampled_clients, layout="vector", dtype="float64"
):
    strategy = DifferentialPrivacyClientSideFixedClipping(
        make_fed_avg(num_sampled_clients), noise_multiplier, clipping_norm, num_sampled_clients
    )
    return one_round(strategy, data, layout, dtype, fixedclipping_mod)


def server_side_adaptive_clipping(
    data, noise_multiplier, num_sampled_clients, layout="vector", dtype="float64", **options
):
    strategy = DifferentialPrivacyServerSideAdaptiveClipping(
        make_fed_avg(num_sampled_clients), noise_multiplier, num_sampled_clients, **options
    )
    released = one_round(strategy, data, layout, dtype)
    return {"released": released, "clipping_norm": strategy.clipping_norm}


def client_side_adaptive_clipping(
    data, noise_multiplier, num_sampled_clients, layout="vector", dtype="float64", **options
):
    strategy = DifferentialPrivacyClientSideAdaptiveClipping(
        make_fed_avg(num_sampled_clients), noise_multiplier, num_sampled_clients, **options
    )
    released = one_round(strategy, data, layout, dtype, adaptiveclipping_mod)
    return {"released": released, "clipping_norm": strategy.clipping_norm}
