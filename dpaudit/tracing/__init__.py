"""Privacy read from the code of a function: laws and bounds, by running it."""
