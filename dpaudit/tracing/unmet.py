"""Noise that has met no value yet: code may scale it and add it, and has not looked at it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

LINEAR = frozenset({np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.positive})


class Unmet(NDArrayOperatorsMixin):
    """Noise whose operators go through ``__array_ufunc__``; all else looks at it by itself."""

    # Above that of bounded arrays and lanes, so that operators with these ask the noise first.
    __array_priority__ = 2000

    @abstractmethod
    def refusal(self, reason: str) -> Exception:
        """Note a refusal, for good, and return the error to raise for it."""

    @abstractmethod
    def combine(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """Return a linear operation on this noise and the other operands."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the noise."""

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the value that it becomes."""
        return np.dtype(float)

    def __len__(self) -> int:
        if not self.shape:
            raise self.looked_at()
        return self.shape[0]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        into = options.pop("out", None)
        if method != "__call__" or options or ufunc not in LINEAR:
            raise self.looked_at()
        found = self.combine(ufunc, inputs)
        if into is None or (into[0] is self and not self.shape):  # a number is not changed in place
            return found
        if isinstance(found, Unmet):
            raise self.refusal("the code changes noise in place")
        return self.written(into[0], found)

    @abstractmethod
    def written(self, target: Any, found: Any) -> Any:
        """Return the array into which a noisy value was written."""

    def looked_at(self, *_: Any, **__: Any) -> Any:
        """Refuse whatever looks at the noise by itself."""
        raise self.refusal("a draw is looked at by itself")

    __array__ = __array_function__ = __setitem__ = __contains__ = looked_at
    __float__ = __int__ = __complex__ = __bool__ = __index__ = looked_at
    __round__ = __trunc__ = __floor__ = __ceil__ = looked_at
    __hash__ = __repr__ = __str__ = __format__ = __reduce__ = looked_at

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.looked_at()
