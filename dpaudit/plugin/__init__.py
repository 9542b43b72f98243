"""The plugin for pytest: audits as tests, with one error probability for the whole suite.

pytest loads `dpaudit.plugin.hooks` whenever dpaudit is installed, so that module imports pytest and
nothing else; what audits is imported by the first test that asks for it.
"""
