"""What is proved about each algorithm: events with their derivations, beside published formulas."""
