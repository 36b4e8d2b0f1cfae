"""Deletion keys and pseudonyms; the vectors were made with openssl and sha256sum."""

import pytest

from blendp.wire.install import deletion_key, pseudonym

SECRET = bytes(range(32))


@pytest.mark.parametrize(
    ("campaign", "key", "name"),
    [
        (
            "trends-2026-11",
            "203d79620f01fe75ef6a3583b256d8b79f3d0bd15beaa5e146c1a8e7f33f528f",
            "61067e31391f7f54c5913fffcd2c72dd",
        ),
        ("c1", "9cd527ac70c490da8f2d94148ffc46daf1cbc803145e13384cc166e241c71ed0", "ede23b69f1ced11ae170b37f08808c50"),
    ],
)
def test_vectors(campaign: str, key: str, name: str) -> None:
    assert deletion_key(SECRET, campaign).hex() == key
    assert pseudonym(bytes.fromhex(key)).hex() == name


def test_another_install_or_campaign_is_another_pseudonym() -> None:
    names = {pseudonym(deletion_key(secret, name)) for secret in (SECRET, bytes(32)) for name in ("a", "b")}
    assert len(names) == 4
