"""Other people's accountants against certified brackets."""
