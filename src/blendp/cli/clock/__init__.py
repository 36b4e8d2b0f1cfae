"""``blendp clock``: whether a collector trusts its clock."""
