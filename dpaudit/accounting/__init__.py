"""From events to upper bounds: what can be proved about a release."""
