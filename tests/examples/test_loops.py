"""Ten loops: the page is that of the modules, and an audit takes each as it is."""

import numpy as np
import pytest

import dpaudit
from tests.examples import loops
from tests.own_examples import load_example


def test_there_are_ten_and_the_page_shows_them():
    assert {path.stem for path in loops.MODULES.glob("*.py")} == set(loops.ORDER)
    assert len(loops.ORDER) == 10
    assert loops.PAGE.read_text(encoding="utf-8") == loops.page()


@pytest.mark.parametrize("name", loops.ORDER)
def test_a_loop_varies_and_follows_its_generator(name):
    module = load_example(f"loops/{name}")
    function = getattr(module, name)
    for data in (module.DATASET, module.NEIGHBOUR):
        before = data.copy()
        one, same, other = (function(data, np.random.default_rng(k)) for k in (0, 0, 1))
        assert np.array_equal(one, same)
        assert not np.array_equal(one, other)
        assert np.array_equal(data, before)


@pytest.mark.slow
@pytest.mark.parametrize("name", loops.ORDER)
def test_the_true_claim_is_not_refuted_from_outputs(name):
    module = load_example(f"loops/{name}")
    result = dpaudit.audit(
        getattr(module, name), module.DATASET, module.NEIGHBOUR,
        epsilon=module.EPSILON, delta=module.DELTA, confidence=1 - 1e-6, trials=4000,
    )  # fmt: skip
    assert result.verdict == "not refuted"
    assert 0 < result.measured.lower < module.EPSILON
