"""Privacy guarantees as mathematics: kinds, their implications, and their composition."""
