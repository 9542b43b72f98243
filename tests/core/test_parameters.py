"""Parameters that somebody gives, and the error on the first of them that is wrong."""

import pytest
from pydantic import model_validator

from dpaudit.errors import InvalidArgument
from dpaudit.extension.parameters import Parameters, parse_parameters


class _Ordered(Parameters):
    low: int = 0
    high: int = 1

    @model_validator(mode="after")
    def _check_order(self) -> "_Ordered":
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


def test_an_error_of_no_single_parameter_is_told_as_well():
    """Its place is empty, also where some names hold records."""
    for records in ((), ("rows",)):
        with pytest.raises(InvalidArgument, match="low is above high"):
            parse_parameters(_Ordered, {"low": 2}, records)
