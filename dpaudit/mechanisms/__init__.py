"""Mechanisms: their contract, their outputs as numbers, and other people's code."""
