"""The figures of hu2020, drawn again."""
