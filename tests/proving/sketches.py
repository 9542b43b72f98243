"""Programs that are written operation by operation."""

from __future__ import annotations

from typing import Any

from dpaudit.proving.program import PathProgram, Shape


class Sketch:
    """A program about a few records, as a tracer would write it."""

    def __init__(self, records: int | None = 5, *columns: int) -> None:
        self.program = PathProgram()
        self.records = self.program.add("data", shape=(records, *columns), part="")
        self.draws = 0

    def total(self) -> int:
        return self("sum", self.records, axis=None)

    def draw(self, law: str = "laplace", shape: tuple[int | None, ...] = (), **given: Any) -> int:
        self.draws += 1
        return self.program.add("draw", shape=shape, law=law, number=self.draws - 1, **given)

    def constant(self, value: object, shape: tuple[int, ...] = ()) -> int:
        return self.program.add("constant", shape=shape, value=value)

    def __call__(self, operation: str, *operands: int, shape: Shape = (), **given: Any) -> int:
        return self.program.add(
            operation, operands, shape=shape, place=f"{operation} here", **given
        )

    def scaled(self, law: str, scale: float, shape: tuple[int, ...] = ()) -> int:
        """Return noise of a law and a scale."""
        return self("multiply", self.draw(law, shape), self.constant(scale), shape=shape)

    def take(self, operand: int, place: int) -> int:
        """Return an entry of a row."""
        one = self("take", operand, shape=(1,), key=[[place]])
        return self("reshape", one)

    def show(self, *outputs: int) -> PathProgram:
        self.program.outputs = outputs
        return self.program
