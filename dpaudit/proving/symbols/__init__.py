"""Symbols that stand for arrays, lists and tables of every dataset, and the program they write."""
