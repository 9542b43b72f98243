"""Privacy guarantees as mathematics: kinds, what they imply, how they compose."""
