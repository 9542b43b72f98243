"""The bounds that fresh outputs certify about a pair."""
