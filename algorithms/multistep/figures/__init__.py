"""The figures of Huang & Gong, drawn again."""
