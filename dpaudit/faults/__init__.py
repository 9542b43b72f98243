"""Kinds of fault, each with a code that stays, a page, a broken function and its repair."""
