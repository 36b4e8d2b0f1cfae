"""``blendp campaign``: what operators do with a collector, from anywhere."""
