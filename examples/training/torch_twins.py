"""Torch: clipping that is wrong, of gradients by ``torch.func``, many runs at once."""

import torch
from torch.func import grad, vmap
from torch.nn.functional import softplus
from twins import CLIP, RATE, SIZES, Training


def loss(weights, record):
    return softplus(-record @ weights)


def clipped(gradients):
    return gradients * (CLIP / gradients.norm(dim=-1, keepdim=True)).clamp(max=1)


class Torch(Training):
    def summed(self, *arrays, clip=clipped):
        models, records, batches = map(torch.tensor, arrays)
        each = vmap(vmap(grad(loss), (None, 0)), (0, None))  # run, record
        return torch.einsum("rn,rnd->rd", batches, clip(each(models, records))).numpy()


class PerParameter(Torch):
    def summed(self, *arrays):
        return super().summed(*arrays, clip=self.each)

    def each(self, gradients):
        return torch.cat([clipped(one) for one in gradients.split(SIZES, dim=-1)], dim=-1)


class Averaged(Torch):
    def summed(self, *arrays):
        models, records, batches = map(torch.tensor, arrays)
        mean = grad(lambda one, batch: batch @ vmap(loss, (None, 0))(one, records) / len(records))
        return RATE * len(records) * clipped(vmap(mean)(models, batches) / RATE).numpy()


TWINS, TRIALS = {"right": Torch(), "clipping per parameter": PerParameter()}, 40_000
TWINS["loss averaged before clipping"] = Averaged()
