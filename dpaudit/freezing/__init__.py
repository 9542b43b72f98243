"""The plain part of a replay: the standard library and numpy alone, so that it runs anywhere.

An environment in which dpaudit cannot be installed takes this folder as a package of its own. The
modules import one another by relative names for that reason.
"""
