"""Sums, products of matrices, quantiles and counts, of numbers that the checker reads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.proving.lowering.arrays import (
    Arranger,
    ScalarBlock,
    axes_of,
    compute_flat_places,
    compute_strides,
    replace_items,
)
from dpaudit.proving.lowering.entrywise import apply_sampling_coin
from dpaudit.proving.lowering.scalars import (
    Core,
    NotAlike,
    NotLowered,
    NotSampled,
    Scalar,
    to_json_number,
)
from dpaudit.proving.program import Node

_ONE = Fraction(1)
_NAMES = {"max": "maximum", "min": "minimum"}


@dataclass(frozen=True)
class Reducer:
    """Writes operations along axes; ``arranger.count`` is the number of records, if public."""

    core: Core
    arranger: Arranger

    @property
    def records(self) -> int | None:
        """The number of records."""
        return self.arranger.count

    def _split(
        self, block: ScalarBlock, axes: Iterable[int]
    ) -> tuple[list[int], list[list[Scalar]]]:
        """Return the axes that are left, and for each entry there the items that become one."""
        rank, steps = len(block.shape), compute_strides(block.shape)
        along = [*axes]
        left = [i for i in range(rank) if i not in along]
        outer, inner = (
            compute_flat_places([range(block.shape[i]) for i in group], [steps[i] for i in group])
            for group in (left, along)
        )
        return left, [[block.items[start + i] for i in inner] for start in outer]

    def reduced(self, name: str, given: Mapping[str, Any], block: ScalarBlock) -> ScalarBlock:
        """Return sums, means, products, extremes or quantiles along axes."""
        axes = axes_of(given["axis"], len(block.shape))
        left, groups = self._split(block, axes)
        records = block.axis is not None and block.axis in axes
        lengths = [self.records if i == block.axis else block.shape[i] for i in axes]
        number = 0 if None in lengths else math.prod(n or 0 for n in lengths)
        if name != "sum" and not number:
            raise NotLowered(f"{name} of nothing, or of an unknown number")
        if any(one.sample is not None for group in groups for one in group) and name != "sum":
            raise NotSampled("the coins of a sample are seen")
        items = [self._of_group(name, given, group, number, records) for group in groups]
        axis = None if records or block.axis is None else left.index(block.axis)
        return ScalarBlock(tuple(block.shape[i] for i in left), tuple(items), axis)

    def _of_group(
        self, name: str, given: Mapping[str, Any], group: list[Scalar], number: int, records: bool
    ) -> Scalar:
        if name in ("sum", "mean"):
            factor = Fraction(1, number) if name == "mean" else _ONE
            return self.core.sum([(factor, self._add_group_sum(group, records))])
        if name == "prod" and not records:
            found = self.core.number(1)
            for one in group:
                found = self.core.multiply(found, one)
            return found
        if name in _NAMES:
            found = self.core.extreme(_NAMES[name], group)
            return self._over_records(found, int(name == "max")) if records else found
        if name in ("argmax", "argmin") and not records:
            signed = group if name == "argmax" else [self.core.sum([(-_ONE, k)]) for k in group]
            return self.core.add("place", signed)
        if name in ("median", "quantile"):
            return self._quantile(given, group, records)
        raise NotAlike(f"{name} of records")

    def _add_group_sum(self, group: list[Scalar], records: bool) -> Scalar:
        samples = {one.sample for one in group} or {None}
        if len(samples) > 1:
            raise NotSampled("a sum of records in several samples")
        plain = self.core.sum((_ONE, replace(one, sample=None)) for one in group)
        if not records and samples != {None}:
            return replace(plain, sample=samples.pop(), number=None, is_local=True)
        return self.core.total(replace(plain, sample=samples.pop())) if records else plain

    def _over_records(self, one: Scalar, by: Any) -> Scalar:
        return self.core.add("rows", [one], by=by, local=False)

    def _quantile(self, given: Mapping[str, Any], group: list[Scalar], records: bool) -> Scalar:
        q = given.get("q", 0.5)
        if given.get("method", "linear") != "linear" or np.ndim(q):
            raise NotLowered("no rule covers this quantile")
        by = to_json_number(Fraction(float(q)))
        # The order of all numbers of all records is no function of one row each.
        if records and len(group) > 1:
            raise NotAlike("a quantile of several numbers of each record")
        return self._over_records(group[0], by) if records else self._ordered(group, by)

    def _ordered(self, group: list[Scalar], by: Any) -> Scalar:
        return self.core.add("order", sorted(group, key=lambda one: one.node), by=by)

    def sorted_values(self, node: Node, blocks: list[ScalarBlock]) -> ScalarBlock:
        """Return each of sorted numbers, as a quantile of them all."""

        def order_group(group: list[Scalar]) -> list[Scalar]:
            # The k-th of n sorted numbers is their quantile at k / (n - 1).
            most = max(len(group) - 1, 1)
            return [
                self._ordered(group, to_json_number(Fraction(k, most))) for k in range(len(group))
            ]

        return self._along(node, blocks[0], order_group)

    def cumulated(self, node: Node, blocks: list[ScalarBlock]) -> ScalarBlock:
        """Return sums of all numbers so far."""

        def sums(group: list[Scalar]) -> list[Scalar]:
            return [self.core.sum((_ONE, one) for one in group[: k + 1]) for k in range(len(group))]

        block = blocks[0]
        if node.parameters["axis"] is None and block.axis is None:
            block = ScalarBlock((len(block.items),), block.items)
        return self._along(node, block, sums)

    def _along(self, node: Node, block: ScalarBlock, function: Any) -> ScalarBlock:
        """Return the result of a function on the numbers along an axis."""
        axis = node.parameters["axis"]
        along = range(len(block.shape))[-1 if axis is None else axis]
        # One number stands for all records, and has no place among them.
        if block.axis == along:
            raise NotAlike("records in order")
        left, groups = self._split(block, [along])
        found = [function(group) for group in groups]
        order = [*left, along]
        items = [one for group in found for one in group]
        moved = ScalarBlock(tuple(block.shape[i] for i in order), tuple(items), None if block.axis
        is None
                      else order.index(block.axis))  # fmt: skip
        back = [order.index(i) for i in range(len(order))]
        return self.arranger.arrange_block("transpose", {"axes": back}, [moved])

    def multiplied(self, node: Node, blocks: list[ScalarBlock]) -> ScalarBlock:
        """Return a product of matrices or vectors: a sum of products along a new last axis."""
        a, b = blocks
        m, n = len(a.shape), len(b.shape)
        if m > 2 or n > 2 or not m or not n:
            raise NotLowered("matmul: no rule covers more than two axes")
        b = self.arranger.arrange_block("transpose", {"axes": None}, [b])
        axis = None if a.axis is None else a.axis + (n - 1) * (a.axis == m - 1)
        left = ScalarBlock((*a.shape[:-1], *[1] * (n - 1), a.shape[-1]), a.items, axis)
        both = self.arranger.together([left, b])
        pairs = list(zip(both[0].items, both[1].items, strict=True))
        if any(one.sample is not None for pair in pairs for one in pair):
            cells = [apply_sampling_coin(self.core, "multiply", pair) for pair in pairs]
        else:
            cells = [self.core.multiply(*pair) for pair in pairs]
        return self.reduced("sum", {"axis": -1}, replace_items(both[0], cells))

    def counted(self, node: Node, blocks: list[ScalarBlock]) -> ScalarBlock:
        """Return how many numbers lie in each bin."""
        edges = [Fraction(float(one)) for one in node.parameters["edges"]]
        family, bins = [to_json_number(one) for one in edges], len(edges) - 1
        block = blocks[0]
        items = [
            # numpy's last bin holds its upper edge, and no other one does.
            self.core.inside(one, *edges[n : n + 2], closed=n == bins - 1, family=family)
            for one in block.items
            for n in range(bins)
        ]
        cells = ScalarBlock((*block.shape, bins), tuple(items), block.axis)
        return self.reduced("sum", {"axis": list(range(len(block.shape)))}, cells)
