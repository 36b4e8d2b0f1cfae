"""``blendp vectors``: cases that hold clients in any language to the specification."""
