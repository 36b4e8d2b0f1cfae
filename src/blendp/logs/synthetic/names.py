"""The populations that there are, by name: for options, which need nothing else of them."""

NAMES = ("aol", "yandex", "aol-sparse")
