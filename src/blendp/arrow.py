"""PyArrow, imported when it is first used: most logs are read without it, and it takes long to load."""

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
    import pyarrow as pa
else:
    from blendp.lazy import LazyModule

    pa = LazyModule("pyarrow")

__all__ = ["pa"]
