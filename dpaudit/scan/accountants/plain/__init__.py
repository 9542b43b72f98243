"""Other people's accountants, asked in their own environments.

Each module imports the standard library, numpy and the one package it is named after. ``METHODS``
holds a function for each way to an answer: from a question (`dpaudit.scan.accountants.cases`, as a
dictionary) to a number, to a triple of lower end, estimate and upper end, or to None where the
package has nothing for such a question. Every call is written as the package's documentation tells
its users to write it.
"""
