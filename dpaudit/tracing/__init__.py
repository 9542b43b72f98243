"""What the code of a function says of its privacy: laws and bounds that are read by running it."""
