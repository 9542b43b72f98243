"""Published bounds of what nodes learn of each other, over what is exact: ``make published``."""
