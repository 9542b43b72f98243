"""Checks of the rows of a ledger: functions without arguments, in exact arithmetic."""
