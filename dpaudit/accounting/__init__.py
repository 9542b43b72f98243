"""From events to upper bounds: the guarantees proved of releases."""
