"""The primitives of torch, where it is loaded, and their replacements."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import recorder
from .recorder import OWN, active

_FUNCTIONS = "bernoulli multinomial poisson randint randperm randint_like".split()
_METHODS = "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ random_ bernoulli".split()


def replace(replacements: dict[int, tuple[Any, Any]], undo: list[Callable[[], None]]) -> None:
    """Replace the primitives of torch in place."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return
    own = {
        "normal": _normal(torch),
        "randn": _shaped(torch, "normal", torch.randn, "torch.randn"),
        "rand": _shaped(torch, "uniform", torch.rand, "torch.rand"),
        "randn_like": _like(torch, "normal", torch.randn_like, "torch.randn_like"),
        "rand_like": _like(torch, "uniform", torch.rand_like, "torch.rand_like"),
        **{name: _other(torch, name, getattr(torch, name), f"torch.{name}") for name in _FUNCTIONS},
    }
    for name, new in own.items():
        _set(torch, name, new, undo)
    in_place = {
        "normal_": _in_place(
            torch, "normal", torch.Tensor.normal_, lambda mean=0.0, std=1.0: (mean, std)
        ),
        "uniform_": _in_place(
            torch, "uniform", torch.Tensor.uniform_, lambda a=0.0, b=1.0: (a, b - a)
        ),
        **{
            name: _other(torch, name, getattr(torch.Tensor, name), f"torch.Tensor.{name}")
            for name in _METHODS
        },
    }
    for name, new in in_place.items():
        _set(torch.Tensor, name, new, undo)


def _set(place: Any, name: str, new: Any, undo: list[Callable[[], None]]) -> None:
    own, old = name in vars(place), getattr(place, name)
    setattr(place, name, new)
    undo.append(lambda: setattr(place, name, old) if own else delattr(place, name))


def _array(value: Any) -> Any:
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value


def _draw_tensor(
    torch: Any, kind: str, title: str, place: Any, scale: Any, shape: Any, like: Any
) -> Any:
    """Return a tensor of a law with location and scale, of a kind that is given."""
    state = active()
    location, scale = _array(place), _array(scale)
    _, value = recorder.draw_located(state, OWN, kind, title, location, scale, shape)  # type: ignore[arg-type]
    return torch.as_tensor(np.array(value), **like)


def _normal(torch: Any) -> Any:
    original = torch.normal

    def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, **options: Any) -> Any:
        if active() is None:
            given = (mean, std) if size is None else (mean, std, size)
            return original(*given, **options)
        options.pop("generator", None)
        options.pop("requires_grad", None)
        out = options.pop("out", None)
        shape = None if size is None else tuple(size)
        tensor = next((one for one in (mean, std) if hasattr(one, "dtype")), None)
        kept = {"dtype": torch.get_default_dtype() if tensor is None else tensor.dtype}
        like = {**kept, **{k: v for k, v in options.items() if k in ("dtype", "device")}}
        drawn = _draw_tensor(torch, "normal", "torch.normal", mean, std, shape, like)
        return drawn if out is None else out.copy_(drawn)

    return normal


def _shaped(torch: Any, kind: str, original: Any, title: str) -> Any:
    def function(*size: Any, **options: Any) -> Any:
        if active() is None:
            return original(*size, **options)
        given = options.pop("size", size)
        shape = tuple(given[0]) if len(given) == 1 and np.iterable(given[0]) else tuple(given)
        like = {"dtype": torch.get_default_dtype()}
        like |= {k: v for k, v in options.items() if k in ("dtype", "device") and v is not None}
        made = _draw_tensor(torch, kind, title, 0.0, 1.0, shape, like)
        return made.requires_grad_(bool(options.get("requires_grad", False)))

    return function


def _like(torch: Any, kind: str, original: Any, title: str) -> Any:
    def function(tensor: Any, **options: Any) -> Any:
        if active() is None:
            return original(tensor, **options)
        like = {"dtype": options.get("dtype") or tensor.dtype, "device": tensor.device}
        return _draw_tensor(torch, kind, title, 0.0, 1.0, tuple(tensor.shape), like)

    return function


def _in_place(torch: Any, kind: str, original: Any, of: Callable[..., tuple[Any, Any]]) -> Any:
    def method(self: Any, *given: Any, generator: Any = None, **named: Any) -> Any:
        if active() is None:
            return original(self, *given, generator=generator, **named)
        named = {{"from": "a", "to": "b"}.get(key, key): value for key, value in named.items()}
        place, scale = of(*given, **named)
        like = {"dtype": self.dtype, "device": self.device}
        title = f"torch.Tensor.{kind}_"
        # torch refuses to write into a leaf whose gradient is asked for.
        with torch.no_grad():
            return self.copy_(
                _draw_tensor(torch, kind, title, place, scale, tuple(self.shape), like)
            )

    return method


def _other(torch: Any, name: str, original: Any, title: str) -> Any:
    def function(*given: Any, **named: Any) -> Any:
        state = active()
        if state is None:
            return original(*given, **named)
        named.pop("generator", None)

        def draw(fresh: Any) -> Any:
            source = torch.Generator()
            source.manual_seed(int(fresh.integers(2**62)))
            return original(*given, generator=source, **named)

        parameters = {str(n): _array(one) for n, one in enumerate(given)}
        return recorder.opaque(state, OWN, name, title, draw, parameters)

    return function
