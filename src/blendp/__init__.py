"""blendp."""
