"""``dpaudit account`` and ``dpaudit calibrate``: what can be proved from public parameters."""
