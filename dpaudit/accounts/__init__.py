"""``dpaudit account`` and ``dpaudit calibrate``: proved guarantees from public parameters."""
