"""Verifiers of certificates against the claims of hu2019."""
