"""Scripts of ``examples/``, loaded from their files, as benchmarks load them."""

from benchmarks._own_examples import EXAMPLES, load_example

__all__ = ["EXAMPLES", "load_example"]
