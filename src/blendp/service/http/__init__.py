"""The collector's addresses: one table of endpoints, and the guard that every request passes."""

from blendp.service.http.app import make_app

__all__ = ["make_app"]
