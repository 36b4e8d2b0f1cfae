"""Who is one peer, how much it may ask for, and what others' wrong tokens do to a right one."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from blendp.errors import ParameterError
from blendp.service.http import endpoints
from blendp.service.limits import RateLimit, Shares
from blendp.service.peers import UNKNOWN, Proxies, peer_of
from blendp.service.settings import Settings
from blendp.wire.media_types import BATCH_TYPE
from blendp.wire.reports import write_batch
from tests.service.helpers import bearer, open_collector, published_campaign, records_of, terms_of, with_client
from tests.service.test_api_errors import require_problem


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::FFFF:C000:0207", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8:0:0:ffff::2", "2001:db8::/64"),
        ("2001:0db8:0000:0000:1:2:3:4", "2001:db8::/64"),
        ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("fe80::2%25eth1", "fe80::/64"),
        ("::1", "::/64"),
        ("", UNKNOWN),
        ("a unix socket", UNKNOWN),
        ("192.0.2.7, 192.0.2.8", UNKNOWN),
        ("1" * 10_000, UNKNOWN),
    ],
)
def test_one_household_is_one_peer(address: str, peer: str) -> None:
    assert peer_of(address) == peer


def test_however_the_addresses_of_a_network_are_written() -> None:
    assert len({peer_of(f"2001:db8::{number:x}") for number in range(1, 1000)}) == 1
    assert len({peer_of(f"2001:db8:0:{number:x}::1") for number in range(100)}) == 100


@pytest.mark.parametrize(
    "proxy", ["0.0.0.0/0", "::/0", "10.0.0.0/8", "2001:db8::/32", "10.0.0.2,0.0.0.0/0", "10.0.0.2,"]
)
def test_a_proxy_is_not_everybody(proxy: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="behind_proxy"):
        Settings(tmp_path, behind_proxy=proxy)


def test_proxies_are_known_however_their_addresses_are_written() -> None:
    proxies = Proxies.parse("10.0.0.2, 2001:db8::/64")
    assert "10.0.0.2" in proxies
    assert "::ffff:10.0.0.2" in proxies
    assert "2001:db8::7%eth0" in proxies
    assert all(one not in proxies for one in ("10.0.0.3", "2001:db8:1::7", "", "proxy.internal"))


def test_what_costs_more_is_paid_for_by_waiting() -> None:
    now = [0.0]
    limit = RateLimit(10, 100, lambda: now[0])
    assert limit.allow("a", 500)
    assert limit.empty("a")
    assert not limit.allow("a")
    assert limit.wait("a") == 41
    now[0] = 40.0
    assert not limit.allow("a")
    now[0] = 40.2
    assert limit.allow("a")
    assert limit.allow("b"), "others do not pay"
    limit.charge("b", 1e9)
    assert limit.wait("b") <= 3601, "nobody waits for ever"


def test_a_limit_remembers_so_many_peers() -> None:
    """Who was silent longest is forgotten first: not who is in debt and comes again."""
    limit = RateLimit(1, 10, lambda: 0.0)
    limit.charge("debtor", 1000)
    for number in range(25_000):
        assert limit.allow(str(number))
        assert number % 1000 or not limit.allow("debtor")
    assert len(limit) == 10_000


def test_shares_are_given_back() -> None:
    shares = Shares(80)
    assert shares.take("a", 10)
    assert not shares.take("a", 1)
    assert all(shares.take(peer, 10) for peer in "bcdefgh")
    assert not shares.take("i", 1)
    shares.give_back("a", 10)
    assert shares.take("i", 10)


def from_address(client: httpx.AsyncClient, address: str) -> httpx.AsyncClient:
    """The same collector, asked from elsewhere."""
    transport = httpx.ASGITransport(client._transport.app, client=(address, 1))  # type: ignore[attr-defined]
    return httpx.AsyncClient(transport=transport, base_url="http://collector.test")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nowhere"),
        ("GET", "/v1/campaigns/"),
        ("BREW", "/v1/keys"),
        ("POST", "/v1/keys"),
        ("OPTIONS", "/v1/keys"),
        ("OPTIONS", "/nowhere"),
        ("GET", "/health/live"),
        ("GET", "/metrics"),
        ("POST", "/v1/campaigns/c1/deletions"),
    ],
)
def test_every_address_is_guarded(tmp_path: Path, method: str, path: str) -> None:
    collector = open_collector(tmp_path, rate=0.5)

    async def talk(client: httpx.AsyncClient) -> None:
        answers = [await client.request(method, path) for _ in range(6)]
        assert all(answer.status_code != 429 for answer in answers[:5])
        require_problem(answers[5], "rate-limited")
        async with from_address(client, "198.51.100.7") as other:
            assert (await other.request(method, path)).status_code == answers[0].status_code

    with_client(collector, talk)


def test_addresses_of_one_network_share_a_bucket(tmp_path: Path) -> None:
    collector = open_collector(tmp_path, rate=1.0)

    async def talk(client: httpx.AsyncClient) -> None:
        statuses = []
        for number in range(1, 13):
            async with from_address(client, f"2001:db8::{number:x}") as one:
                statuses.append((await one.get("/health/live")).status_code)
        assert statuses == [200] * 10 + [429] * 2
        async with from_address(client, "2001:db8:0:1::1") as neighbour:
            assert (await neighbour.get("/health/live")).status_code == 200

    with_client(collector, talk)


def test_a_batch_costs_as_many_as_it_has_reports(tmp_path: Path) -> None:
    collector = open_collector(tmp_path, rate=20.0)
    published = published_campaign(collector)
    body = write_batch(published.binding, published.make(500))

    async def talk(client: httpx.AsyncClient) -> None:
        headers = {"content-type": BATCH_TYPE}
        first = await client.post("/v1/campaigns/c1/reports", content=body, headers=headers)
        assert first.json() == {"outcomes": ["accepted"] * 500}
        second = await client.post("/v1/campaigns/c1/reports", content=body, headers=headers)
        require_problem(second, "rate-limited")
        assert 10 <= int(second.headers["retry-after"]) <= 16, "300 of debt, at 20 a second"

    with_client(collector, talk)


def test_a_batch_that_cannot_be_read_costs_its_size(tmp_path: Path) -> None:
    collector = open_collector(tmp_path, rate=20.0)
    published_campaign(collector)

    async def talk(client: httpx.AsyncClient) -> None:
        headers = {"content-type": BATCH_TYPE}
        first = await client.post("/v1/campaigns/c1/reports", content=b"[" * 500_000, headers=headers)
        require_problem(first, "malformed")
        require_problem(await client.get("/v1/keys"), "rate-limited")

    with_client(collector, talk)


def test_wrong_tokens_of_one_kind_do_not_lock_out_the_other(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    token = collector.tokens.create("right")
    terms = collector.lifecycle.create(terms_of())
    (enrolment, _) = collector.opt_in.enrol("c1", 2)
    body = records_of(terms, 0)
    headers = {"content-type": "application/vnd.blendp.opt-in.v1+json"}

    async def talk(client: httpx.AsyncClient) -> None:
        async def opt_in(with_token: str) -> int:
            sent = headers | bearer(with_token)
            return (await client.put("/v1/campaigns/c1/opt-in", content=body, headers=sent)).status_code

        guesses = [await opt_in("blendp-in-" + "0" * 64) for _ in range(12)]
        assert guesses == [401] * 10 + [429] * 2
        assert (await client.get("/metrics", headers=bearer(token))).status_code == 200
        async with from_address(client, "198.51.100.7") as other:
            for _ in range(12):
                await other.get("/metrics", headers=bearer("wrong"))
            sent = headers | bearer(enrolment)
            assert (await other.put("/v1/campaigns/c1/opt-in", content=body, headers=sent)).status_code == 201

    with_client(collector, talk)


def test_a_token_that_was_right_is_not_locked_out_by_others(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    token, unproved = collector.tokens.create("right"), collector.tokens.create("never used")
    terms = collector.lifecycle.create(terms_of())
    (enrolment,) = collector.opt_in.enrol("c1", 1)
    body, media_type = records_of(terms, 0), {"content-type": "application/vnd.blendp.opt-in.v1+json"}
    wrong = int(endpoints._FAILURES[1]) + 2

    async def talk(client: httpx.AsyncClient) -> None:
        async def metrics(with_token: str) -> int:
            return (await client.get("/metrics", headers=bearer(with_token))).status_code

        async def opt_in(with_token: str) -> int:
            sent = media_type | bearer(with_token)
            return (await client.put("/v1/campaigns/c1/opt-in", content=body, headers=sent)).status_code

        assert (await metrics(token), await opt_in(enrolment)) == (200, 201)
        for _ in range(wrong):
            await metrics(token[:-64] + "0" * 64)
            await opt_in("blendp-in-" + "0" * 64)
        assert (await metrics(unproved), await opt_in("blendp-in-" + "1" * 64)) == (429, 429)
        assert (await metrics(token), await opt_in(enrolment)) == (200, 200)
        assert await metrics(token[:-64] + "0" * 64) == 429
        collector.tokens.revoke(token.split("-")[2])
        assert await metrics(token) == 401

    with_client(collector, talk)
