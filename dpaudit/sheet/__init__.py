"""A sheet for the person who signs: shown numbers, claims, and open questions.

The questions are those of NIST SP 800-226. A sheet never says more than its reports: what it calls
shown is a number with a certificate that was checked again when the sheet was made.
"""

from dpaudit.sheet.answers import Answer, AnswerPart, Sheet, Signer, make_sheet
from dpaudit.sheet.page import render_page, render_text
from dpaudit.sheet.subjects import SheetSubject, read_subjects

__all__ = [
    "Answer",
    "AnswerPart",
    "Sheet",
    "SheetSubject",
    "Signer",
    "make_sheet",
    "read_subjects",
    "render_page",
    "render_text",
]
