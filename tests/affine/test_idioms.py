"""Ways in which linear recursions are written: each is read, and has the mu of the oracle."""

import numpy as np
import pytest

import dpaudit
from tests.affine import oracle
from tests.affine.idioms import IDIOMS, WEIGHTS


def everything(output):
    return output


@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom_has_the_mu_of_the_oracle(name, capsys):
    function = IDIOMS[name]
    expected = oracle.mu(function, np.zeros(4), everything, WEIGHTS)
    found = dpaudit.views(
        function, private=np.zeros(4), observers={"all": everything}, change=WEIGHTS
    ).mu("all")
    assert [found.lower, found.upper] == pytest.approx([expected] * 2, rel=1e-9)
