"""The figures of zhang2018, drawn again."""
