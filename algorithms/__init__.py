"""The papers' algorithms, a family a folder: what runs, its law, what is claimed and proved."""
