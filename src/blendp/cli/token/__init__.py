"""``blendp token``: who may operate a collector."""
