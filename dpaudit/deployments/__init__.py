"""Statements of deployments: the numbers of a record, and whether they agree."""
