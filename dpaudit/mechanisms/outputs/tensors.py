"""Arrays of torch, jax, cupy and others as numpy's, through DLPack, which they share."""

from __future__ import annotations

from typing import Any

import numpy as np

# DLPack's numbers of memory that this process can read: plain, pinned by CUDA, by ROCm.
# Other devices have memory that this process cannot address.
_HOST = {1, 3, 11}


def host_array(value: Any) -> Any:
    """Return an array of another library as numpy's; any other value as it is.

    No copy is made of what lies in this machine's memory; what lies on a device is fetched, all of
    a batch at once. Types that numpy does not have, such as bfloat16, become doubles, exactly.

    Examples
    --------
    >>> class Tensor:
    ...     def __init__(self, numbers):
    ...         self.numbers = numbers
    ...     def __dlpack__(self, **asked):
    ...         return self.numbers.__dlpack__(**asked)
    ...     def __dlpack_device__(self):
    ...         return self.numbers.__dlpack_device__()
    >>> numbers = np.arange(3.0)
    >>> np.shares_memory(host_array(Tensor(numbers)), numbers), host_array("text")
    (True, 'text')
    """
    if isinstance(value, (np.ndarray, np.generic)) or not hasattr(value, "__dlpack_device__"):
        return value
    value = value.detach() if hasattr(value, "detach") else value  # torch: from the graph of grads
    if int(value.__dlpack_device__()[0]) not in _HOST:
        return _with_known_type(_fetch_from_device(value))
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError):  # a type or a layout that DLPack or numpy lacks
        return _with_known_type(value)


def _fetch_from_device(value: Any) -> Any:
    for name in ("cpu", "get"):  # torch and cupy; np.asarray fetches jax's
        if hasattr(value, name):
            return getattr(value, name)()
    return value


def _with_known_type(value: Any) -> Any:
    if hasattr(value, "double") and "bfloat16" in str(value.dtype):  # torch's
        value = value.double()
    array = np.asarray(value)
    return array if array.dtype.kind != "V" or array.dtype.names else array.astype(np.float64)
