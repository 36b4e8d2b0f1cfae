"""Settings for all tests: properties are tried on the same examples in every run, without a clock."""

from hypothesis import settings

settings.register_profile("blendp", derandomize=True, deadline=None)
settings.load_profile("blendp")
