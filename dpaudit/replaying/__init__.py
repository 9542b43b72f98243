"""Replay: a run and its neighbour's with the noise frozen, compared call by call (docs/replay.md).

`dpaudit.freezing` is plain: it runs where dpaudit cannot be installed.
"""
