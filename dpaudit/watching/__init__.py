"""State that code touches beside its arguments: the standard library alone, to run anywhere.

An environment in which dpaudit cannot be installed takes this folder as a package of its own, from
Python 3.9 on. The modules import one another by relative names for that reason.
"""
