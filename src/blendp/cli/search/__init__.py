"""``blendp search``: offline search in a release."""
