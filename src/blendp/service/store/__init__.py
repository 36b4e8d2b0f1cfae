"""What the collector keeps: one schema on the embedded database or on PostgreSQL, its migrations, its transactions."""

from blendp.service.store.store import Store, open_store

__all__ = ["Store", "open_store"]
