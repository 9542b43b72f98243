"""The figures of the papers: light cards here, the code that draws them beside it."""
