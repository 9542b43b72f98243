"""OpenDP: its common measurements."""
