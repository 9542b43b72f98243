"""Words for events: what a code stands for, or that nobody could read it."""

import pytest

from dpaudit.auditing.wording import _value


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (("number", "nan"), "NaN"),
        (("raised", "KeyError"), "KeyError"),
        (None, "one outcome that was not seen again when its words were read"),
    ],
)
def test_a_code_is_never_said_itself(known, words):
    assert _value(5.606178453494749, known) == words
