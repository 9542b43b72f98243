"""Verifiers of certificates, in 50-digit arithmetic; they share no code with what is verified."""
