"""Statements of deployments: what a record says in numbers, and whether its numbers agree."""
