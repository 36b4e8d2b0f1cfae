"""``blendp client``: a person's own device, from the command line."""
