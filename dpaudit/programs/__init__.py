"""Programs in any language as mechanisms: run once for every output, or asked line by line."""

from dpaudit.programs.program import Program

__all__ = ["Program"]
