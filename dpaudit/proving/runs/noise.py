"""Runs whose draws are nodes of a program, and plain runs whose draws are remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.freezing import recorder
from dpaudit.freezing.tracked_noise import Call
from dpaudit.proving.program import Shape
from dpaudit.proving.runs.draws import DrawRequest, NotFollowed, read_call
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing

CORRELATED = "multivariate_normal"
_WHY_NOT_SEEDED = "a generator with a fixed seed draws no noise"
_OTHER_GENERATOR = "use the generator that the function receives"


@dataclass(frozen=True, eq=False)
class RunDraw:
    """The draws of a plain run: the law, its parameters, and the numbers."""

    law: str
    parameters: dict[str, Any]
    numbers: NDArray[Any]


class SymbolicState(recorder.State):
    """A run whose draws are nodes of a program.

    Parameters
    ----------
    tracing
        Where they are written.
    seed
        Of draws that nobody looks at.
    seeded_line
        Returns the line that seeds the generators of the process, if there is one.
    """

    def __init__(
        self,
        tracing: SymbolTracing,
        seed: int,
        seeded_line: Callable[[], str | None] = lambda: None,
    ) -> None:
        super().__init__(seed)
        self.tracing, self.seeded_line = tracing, seeded_line
        self.number = 0
        self.formed = set[int]()

    def form(self, call: Call, location: Any, scale: Any) -> Any:
        """Return the draws of a call of a law with location and scale."""
        self._check(call)
        found: Any = self._draw(call.kind, call.shape, "float64")
        if np.any(np.asarray(scale) != 1):
            found = found * scale
        return found + location if np.any(np.asarray(location) != 0) else found

    def form_other(self, call: Call, draw: Any, given: dict[str, Any]) -> Any:
        """Return the draws of a call of any other law; refuse those that no program has."""
        self._check(call)
        if call.kind == CORRELATED:
            return self._correlated(given)
        try:
            asked = read_call(call, given)
        except NotFollowed as error:
            self.tracing.refuse(error.reason, error.cure)
        symbol = self._draw(
            asked.law, asked.shape, asked.dtype, asked.operands, is_weak=asked.is_weak,
            **asked.parameters,
        )  # fmt: skip
        return asked.present(symbol)

    def _check(self, call: Call) -> None:
        self.formed.add(call.index)
        if call.source == "seeded" or call.key.startswith("seed ") or call.parameters.get("by"):
            self.tracing.refuse(_WHY_NOT_SEEDED, _OTHER_GENERATOR)
        if call.source == "other" and (line := self.seeded_line()) is not None:
            self.tracing.refuse(f"{_WHY_NOT_SEEDED}: {line} may seed it", _OTHER_GENERATOR)

    def _draw(
        self,
        law: str,
        shape: Shape,
        dtype: str,
        operands: tuple[Any, ...] = (),
        *,
        is_weak: bool = False,
        **parameters: Any,
    ) -> Symbol:
        number, self.number = self.number, self.number + 1
        numbers = [self.tracing.symbol_of(one).index for one in operands]
        given = {"law": law, "number": number, **parameters}
        made = self.tracing.node("draw", numbers, shape, np.dtype(dtype), given)
        return Symbol.of_node(self.tracing, made, is_weak=is_weak)

    def _correlated(self, given: dict[str, Any]) -> Any:
        for name, one in given.items():
            if isinstance(one, Symbol) and not one.is_public and name not in ("0", "mean"):
                self.tracing.refuse("the covariance of noise depends on records or noise")
        key = "0" if "0" in given else "mean"
        mean = self.tracing.symbol_of(given[key])
        try:
            noise = _covariance_of({**given, key: np.zeros(mean.dims)})
        except ValueError as error:
            self.tracing.refuse(str(error))
        return noise.of(self._draw("normal", noise.shape, "float64")) + mean


class PlainState(recorder.State):
    """A run on plain numbers whose draws are remembered."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.rng = self.fresh("")
        self.drawn = list[RunDraw]()

    def form(self, call: Call, location: Any, scale: Any) -> Any:
        """Return the draws of a call of a law with location and scale, as numbers."""
        numbers = np.asarray(recorder.standard_draw(call.kind, self.rng, call.shape), dtype=float)
        self.drawn.append(RunDraw(call.kind, {}, numbers))
        value = np.asarray(location + scale * numbers, dtype=float)
        return value if value.ndim else float(value)

    def form_other(self, call: Call, draw: Any, given: dict[str, Any]) -> Any:
        """Return the draws of a call of any other law, as the symbols' run reads it."""
        if call.kind == CORRELATED:
            return self._correlated(call, given)
        asked = read_call(call, given)
        numbers = np.asarray(asked.sample(self.rng, *map(np.asarray, asked.operands)))
        self.drawn.append(RunDraw(asked.law, dict(asked.parameters), numbers))
        return asked.present(numbers if numbers.ndim else numbers[()])

    def _correlated(self, call: Call, given: dict[str, Any]) -> Any:
        noise = _covariance_of(given)
        numbers = self.rng.standard_normal(noise.shape)
        self.drawn.append(RunDraw("normal", {}, numbers))
        return noise.of(numbers)


__all__ = ["CORRELATED", "DrawRequest", "PlainState", "RunDraw", "SymbolicState"]


def _covariance_of(given: Any) -> Any:
    """Return noise of a covariance; its reader takes long to import, and is seldom needed."""
    from dpaudit.affine.covariance import read_parameters

    return read_parameters(given)
