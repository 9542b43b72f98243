"""``dpaudit spend``: the spending of releases of one dataset over time, kept in a file.

`dpaudit.spending.price` says what a release costs, `dpaudit.spending.filters` what may still be
released when parameters depend on earlier outputs, `dpaudit.spending.chain` and
`dpaudit.spending.file` keep the entries, and `dpaudit.spending.budget` is what users call.
"""
