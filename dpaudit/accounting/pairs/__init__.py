"""Pairs of distributions that dominate a release."""
