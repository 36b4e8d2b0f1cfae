"""``blendp key``: what a collector signs with."""
