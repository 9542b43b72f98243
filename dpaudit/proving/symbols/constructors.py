"""Symbols that stand for arrays which a function makes itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from dpaudit.freezing import constructors
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.symbols import special, structure
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing, holds_symbol

# Functions that take lists for arrays, of which numpy does not ask the entries what they are.
_OF_ARRAYS = (
    *("sum", "mean", "average", "cumsum", "diff", "dot", "vdot", "inner", "outer", "kron"),
    *("tensordot", "convolve", "roll", "flip", "take", "repeat", "tile", "reshape", "ravel"),
    *("transpose", "squeeze", "broadcast_to", "atleast_1d", "atleast_2d", "shape", "ndim", "size"),
    *("max", "min", "amax", "amin", "median", "std", "var", "prod", "any", "all", "sort"),
    *("argmax", "argmin", "quantile", "percentile", "clip", "where", "round", "around", "ptp"),
    *("bincount", "digitize", "cov", "corrcoef", "nansum", "nanmean", "count_nonzero"),
    *("argsort", "unique", "partition", "searchsorted", "isin", "select"),
)
_MOST_CALLS = 10_000
_FULL = np.full
_FULL_LIKE = np.full_like


@contextmanager
def own_constructors(tracing: SymbolTracing, function: Any) -> Iterator[None]:
    """Let constructors of numpy that code of no library calls return symbols.

    So do functions that code has imported by name: they are replaced in modules of no library, and
    where the globals of ``function`` hold them.
    """
    # A method of a class is no module's global, so it is replaced on the class itself.
    call = np.vectorize.__call__

    def vectorized(self: Any, *given: Any, **named: Any) -> Any:
        if named or not holds_symbol(list(given)):
            return call(self, *given, **named)
        return _apply_to_entries(tracing, self.pyfunc, given)

    with constructors.replace_functions(
        _make_symbol_replacements(tracing), function, ("numpy.linalg", "scipy.special")
    ):
        np.vectorize.__call__ = vectorized  # type: ignore[method-assign]
        try:
            yield
        finally:
            np.vectorize.__call__ = call  # type: ignore[method-assign]


def _make_symbol_replacements(tracing: SymbolTracing) -> Iterator[tuple[Any, Any]]:
    """Yield functions and their replacements."""
    symbols = SymbolArrays(tracing)
    of_arrays = [np.histogram, *(getattr(np, name) for name in _OF_ARRAYS)]
    yield from constructors.common_replacements(symbols, of_arrays)
    yield np.linalg.norm, constructors.caller(symbols, np.linalg.norm)
    yield np.empty, constructors.maker(symbols, np.zeros)  # the same each time
    yield np.empty_like, constructors.maker(symbols, np.zeros_like)
    yield from special.make_special_replacements(tracing)
    for made in (np.eye, np.identity, np.arange, np.linspace):
        yield made, constructors.maker(symbols, made)


def _apply_to_entries(tracing: SymbolTracing, function: Any, given: Any) -> Any:
    """Return the results of a function of numbers on each entry."""
    arrays = [structure.copy_symbol(tracing.symbol_of(one)) for one in given]
    dims = np.broadcast_shapes(
        *(structure.require_known_lengths(tracing, one.dims) for one in arrays)
    )
    if int(np.prod(dims, dtype=np.int64)) > _MOST_CALLS:
        tracing.refuse(
            "no rule covers numpy.vectorize of an array of this size",
            "use operations on whole arrays",
        )
    spread = [np.broadcast_to(one, dims) for one in arrays]
    found = [function(*(one[at] for one in spread)) for at in np.ndindex(*dims)]
    return tracing.rules.call(tracing, np.reshape, (tracing.symbol_of(found), dims), {})


@dataclass(frozen=True)
class SymbolArrays:
    """Symbols as stand-ins of arrays.

    Parameters
    ----------
    tracing
        The run.
    """

    tracing: SymbolTracing

    def holds(self, value: Any) -> bool:
        """Return whether nested lists and tuples hold a symbol."""
        return holds_symbol(value)

    def of(self, value: Any) -> Symbol:
        """Return a number, an array or nested lists of such as a symbol."""
        return self.tracing.symbol_of(value)

    def own(self, found: Symbol) -> Symbol:
        """Return an array of the same entries, of its own memory."""
        if (value := found.value) is not None:
            return self.tracing.public(value.copy("K"), is_array=True)
        ordered = structure.is_ordered(found)
        return Symbol.of_node(
            self.tracing, found.index, found.dtype, is_array=True, is_ordered=ordered
        )

    def lying_in_rows(self, found: Symbol) -> Symbol:
        """Return an array that lies row after row: itself, or a copy."""
        if not found.dims:
            return structure.reshape_symbol(found, (1,))  # type: ignore[no-any-return]
        if structure.is_ordered(found) and (found.is_public or found.parent is None):
            return found
        return structure.set_unsure_sharing(found, structure.copy_symbol(found))

    def is_array(self, found: Symbol) -> bool:
        """Return whether a symbol is an array, and no number."""
        return found.is_array

    def is_hidden(self, value: Any) -> bool:
        """Return whether something is a symbol that records or noise decide."""
        return isinstance(value, Symbol) and not value.is_public

    def of_made(self, made: Any) -> Any:
        """Return an array of numbers as a symbol, and any other as it is."""
        return self.tracing.public(made, is_array=True) if made.dtype.kind in "biuf" else made

    def of_converted(self, value: Any, made: Any) -> Any:
        """Return an array that was made of plain numbers as a symbol, and memory of others not."""
        is_own = not isinstance(value, np.ndarray) or not np.may_share_memory(value, made)
        return self.of_made(made) if is_own and made.base is None else made

    def refusal(self, reason: str) -> Exception:
        """Note a refusal, and return the error to raise for it."""
        try:
            self._refuse(reason)
        except NotProved as error:
            return error

    def _refuse(self, reason: str) -> NoReturn:
        self.tracing.refuse(reason)

    def make(self, original: Any, given: Any, named: Any) -> Any:
        """Return an array of the shape of a symbol, or one that is full of a symbol."""
        first, *others = given
        fill = others[0] if others else named.get("fill_value")
        if original is _FULL and holds_symbol([fill]):
            kind = named.get("dtype", self.tracing.symbol_of(fill).dtype)
            made = self.tracing.public(
                np.empty(_require_public_lengths(first), dtype=kind), is_array=True
            )
            made[...] = fill
            return made
        if isinstance(first, Symbol) and not original.__name__.endswith("_like"):
            return self.of_made(original(_require_public_lengths(first), *others, **named))
        if not isinstance(first, Symbol) and original.__name__.endswith("_like"):
            first = self.tracing.symbol_of(first)
        elif not isinstance(first, Symbol):
            return self.of_made(original(_require_public_lengths(first), *others, **named))
        return original(first, *others, **named)


def _require_public_lengths(shape: Any) -> Any:
    """Return a shape whose lengths are public."""
    if isinstance(shape, Symbol):
        if not shape.is_public:
            shape.tracing.refuse("a length depends on records or noise", "use a public length")
        found = shape.plain("")
        return tuple(map(int, found)) if found.ndim else int(found)
    if isinstance(shape, tuple | list):
        return tuple(int(one.__index__()) for one in shape)
    return shape
