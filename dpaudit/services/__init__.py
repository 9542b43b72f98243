"""Services that are asked over HTTP: each request is one output."""

from dpaudit.services.service import Service

__all__ = ["Service"]
