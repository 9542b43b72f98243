"""The outcome of an audit: claim, evidence, declared release, result."""
