"""What the ways to estimate are called, apart from what they do: parameters and options need the names alone."""

VARIANCES = ("mended", "journal", "conference")
"""Which variance formulas and weights are used.

``mended``: unbiased variances and stable weights. ``journal`` and ``conference``: the formulas as printed in the
journal and the conference version, for reproduction only; the conference version's are wrong.
"""

PRIORS = ("power-law", "none")
"""What is assumed of listed records; the <q,*> have their own prior in both cases."""
