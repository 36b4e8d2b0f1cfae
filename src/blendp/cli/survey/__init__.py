"""``blendp survey``: frequencies of answers that hang together, from people of whom a few trust the curator."""
