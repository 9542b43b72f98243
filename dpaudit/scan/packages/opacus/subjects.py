"""Opacus, as its documentation tells to use it: one epoch of training, or one step."""

import logging
import warnings

import torch
from opacus import PrivacyEngine
from opacus.optimizers import DPOptimizer
from opacus.optimizers.adaclipoptimizer import AdaClipDPOptimizer
from opacus.optimizers.perlayeroptimizer import DPPerLayerOptimizer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
warnings.simplefilter("ignore")  # torch's, about hooks, in every run
logging.disable(logging.WARNING)
ADAPTIVE = {
    "target_unclipped_quantile": 0.5,
    "clipbound_learning_rate": 0.2,
    "max_clipbound": 10.0,
    "min_clipbound": 0.1,
    "unclipped_num_std": 20.0,
}


def step(data, noise_multiplier, max_grad_norm, clipping="flat", dtype="float32", secure=False):
    gradients = torch.tensor(data, dtype=getattr(torch, dtype)).reshape(-1, 2)
    weights = nn.Parameter(torch.zeros(2, dtype=gradients.dtype))
    kinds = {"flat": DPOptimizer, "per_layer": DPPerLayerOptimizer, "adaptive": AdaClipDPOptimizer}
    optimizer = kinds[clipping](
        torch.optim.SGD([weights], lr=1.0),
        noise_multiplier=noise_multiplier,
        max_grad_norm=[max_grad_norm] if clipping == "per_layer" else max_grad_norm,
        expected_batch_size=None,
        loss_reduction="sum",
        secure_mode=secure,
        **(ADAPTIVE if clipping == "adaptive" else {}),
    )
    weights.grad_sample = gradients
    optimizer.step()
    return weights.tolist()


def train(
    data,
    noise_multiplier,
    max_grad_norm,
    batch_size,
    loss="mse",
    reduction="sum",
    mode="hooks",
    clipping="flat",
    **options,
):
    features = torch.tensor([row[0] for row in data])
    labels = torch.tensor([row[1] for row in data])
    losses = {"mse": nn.MSELoss, "bce": nn.BCEWithLogitsLoss, "cross-entropy": nn.CrossEntropyLoss}
    outputs = 2 if loss == "cross-entropy" else 1
    labels = (labels > 0.5).long() if outputs == 2 else labels.float().reshape(-1, 1)
    network = nn.Linear(1, outputs)
    nn.init.constant_(network.weight, 0.5)
    nn.init.constant_(network.bias, 0.0)
    dataset = TensorDataset(features.float().reshape(-1, 1), labels)
    criterion = losses[loss](reduction=reduction)
    private = PrivacyEngine().make_private(
        module=network,
        optimizer=torch.optim.SGD(network.parameters(), lr=1.0),
        criterion=criterion,
        data_loader=DataLoader(dataset, batch_size=batch_size),
        noise_multiplier=noise_multiplier,
        max_grad_norm=max_grad_norm,
        loss_reduction=reduction,
        grad_sample_mode=mode,
        clipping=clipping,
        **(ADAPTIVE if clipping == "adaptive" else {}),
        **options,
    )
    if mode == "ghost":
        model, optimizer, criterion, loader = private
    else:
        model, optimizer, loader = private
    for inputs, targets in loader:
        optimizer.zero_grad()
        criterion(model(inputs), targets).backward()
        optimizer.step()
    return [value for one in network.parameters() for value in one.detach().flatten().tolist()]


def train_embedding(data, noise_multiplier, max_grad_norm, batch_size, max_norm=None, mode="hooks"):
    tokens = torch.tensor([row[0] for row in data])
    labels = torch.tensor([row[1] for row in data])
    table = nn.Embedding(4, 1, max_norm=max_norm, _weight=torch.full((4, 1), 3.0))
    network = nn.Sequential(table, nn.Flatten(), nn.Linear(1, 2))
    criterion = nn.CrossEntropyLoss(reduction="sum")
    private = PrivacyEngine().make_private(
        module=network,
        optimizer=torch.optim.SGD(network.parameters(), lr=0.1),
        criterion=criterion,
        data_loader=DataLoader(TensorDataset(tokens.reshape(-1, 1), labels), batch_size=batch_size),
        noise_multiplier=noise_multiplier,
        max_grad_norm=max_grad_norm,
        loss_reduction="sum",
        grad_sample_mode=mode,
    )
    if mode == "ghost":
        model, optimizer, criterion, loader = private
    else:
        model, optimizer, loader = private
    for inputs, targets in loader:
        optimizer.zero_grad()
        criterion(model(inputs), targets).backward()
        optimizer.step()
    return table.weight.detach().flatten().tolist()
