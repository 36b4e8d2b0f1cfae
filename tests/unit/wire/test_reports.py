"""Reports as they travel, byte for byte, and which of them a randomiser can have made."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.mechanisms import SubsetSelection
from blendp.reports import SCHEME_BYTES
from blendp.wire import Terms, UploadedReport
from blendp.wire.reports import (
    HASH_BYTES,
    MAX_REPORTS,
    Binding,
    Upload,
    read_batch,
    read_report,
    write_batch,
    write_report,
)
from tests.support import WHO

BINDING = Binding("ab" * 32, "cd" * 8)
ID, NAME = b"\x01" * 16, b"\x02" * 16
FIRST = UploadedReport(ID, NAME, 0, b"\x05")
SECOND = UploadedReport(b"\x03" * 16, b"\x04" * 16, 1, b"\x00\x07")

reports = st.builds(
    UploadedReport,
    st.binary(min_size=16, max_size=16),
    st.binary(min_size=16, max_size=16),
    st.integers(0, 2),
    st.binary(min_size=1, max_size=5),
)
bindings = st.builds(
    Binding, *(st.binary(min_size=size, max_size=size).map(bytes.hex) for size in (HASH_BYTES, SCHEME_BYTES))
)


def row(report: UploadedReport) -> tuple[bytes, bytes, int, bytes]:
    return report.report_id, report.pseudonym, report.question, report.data


REPORT_VECTOR = (
    b'{"data":"05","manifest":"abababababababababababababababababababababababababababababababab",'
    b'"pseudonym":"02020202020202020202020202020202","question":"query","scheme":"cdcdcdcdcdcdcdcd"}'
)
BATCH_VECTOR = bytes.fromhex(
    "626c5231 abababababababababababababababababababababababababababababababab cdcdcdcdcdcdcdcd"
    "00 0001 00000001 01010101010101010101010101010101 02020202020202020202020202020202 05"
    "01 0002 00000001 03030303030303030303030303030303 04040404040404040404040404040404 0007"
)


def test_report_vector() -> None:
    assert write_report(BINDING, FIRST) == REPORT_VECTOR
    assert read_report("01" * 16, REPORT_VECTOR) == Upload(BINDING, [row(FIRST)])


def test_batch_vector() -> None:
    assert write_batch(BINDING, [FIRST, SECOND]) == BATCH_VECTOR
    assert read_batch(BATCH_VECTOR) == Upload(BINDING, [row(FIRST), row(SECOND)])


@given(bindings, st.lists(reports, min_size=1, max_size=12))
def test_batches_round_trip(binding: Binding, some: list[UploadedReport]) -> None:
    assert read_batch(write_batch(binding, some)) == Upload(binding, [row(report) for report in some])


@given(bindings, reports)
def test_report_round_trip(binding: Binding, report: UploadedReport) -> None:
    assert read_report(report.report_id.hex(), write_report(binding, report)) == Upload(binding, [row(report)])


def test_reports_of_one_kind_share_a_section() -> None:
    some = [UploadedReport(bytes([number]) * 16, NAME, 0, b"\x05") for number in range(4)]
    assert len(write_batch(BINDING, some)) == 44 + 7 + 4 * 33
    assert len(write_batch(BINDING, [*some, SECOND, *some])) == 44 + 7 + 4 * 33 + 7 + 34 + 7 + 4 * 33


def test_data_is_cut_at_no_zero() -> None:
    zeros = UploadedReport(b"\0" * 16, b"\0" * 16, 2, b"\0\0\0")
    assert read_batch(write_batch(BINDING, [zeros])).rows == [row(zeros)]


def test_truncated_batches_are_refused() -> None:
    """But for a cut between two sections, which HTTP itself would notice."""
    between = 44 + 7 + 33
    for length in range(len(BATCH_VECTOR)):
        if length == between:
            assert read_batch(BATCH_VECTOR[:length]).rows == [row(FIRST)]
            continue
        with pytest.raises(ParameterError):
            read_batch(BATCH_VECTOR[:length])


def test_truncated_json_is_refused() -> None:
    for length in range(len(REPORT_VECTOR)):
        with pytest.raises(ParameterError):
            read_report("01" * 16, REPORT_VECTOR[:length])


HEAD = "626c5231" + "ab" * 32 + "cd" * 8
ONE = "01" * 16 + "02" * 16


@pytest.mark.parametrize(
    "vector",
    [
        "",
        "626c5231",
        "626c5232" + "ab" * 40 + "00 0001 00000001" + ONE + "05",
        "7b7d",
        HEAD,
        HEAD + "00",
        HEAD + "00 0001 00000000",
        HEAD + "00 0000 00000001" + ONE,
        HEAD + "00 0000 00000000",
        HEAD + "03 0001 00000001" + ONE + "05",
        HEAD + "ff 0001 00000001" + ONE + "05",
        HEAD + "00 0001 00000002" + ONE + "05",
        HEAD + "00 0002 00000001" + ONE + "05",
        HEAD + "00 0001 00000001" + ONE + "0500",
        HEAD + "00 0001 00000001" + ONE + "05" + "00 0001 00000000",
        HEAD + "00 ffff ffffffff" + ONE + "05",
        HEAD + "00 0001 ffffffff" + ONE + "05",
        HEAD + "00 0100 01000000" + ONE + "05",
        "00" + HEAD + "00 0001 00000001" + ONE + "05",
    ],
)
def test_bad_batch_vectors(vector: str) -> None:
    with pytest.raises(ParameterError):
        read_batch(bytes.fromhex(vector))


def test_as_many_reports_as_allowed_and_no_more() -> None:
    def body(*counts: int) -> bytes:
        sections = (struct.pack(">BHI", 0, 1, count) + bytes(33) * count for count in counts)
        return bytes.fromhex(HEAD) + b"".join(sections)

    assert len(read_batch(body(MAX_REPORTS)).rows) == MAX_REPORTS
    assert len(read_batch(body(1, MAX_REPORTS - 1)).rows) == MAX_REPORTS
    for counts in ((MAX_REPORTS + 1,), (1, MAX_REPORTS), (MAX_REPORTS, 1)):
        with pytest.raises(ParameterError):
            read_batch(body(*counts))
    for some in ([], [FIRST] * (MAX_REPORTS + 1)):
        with pytest.raises(ParameterError):
            read_batch(write_batch(BINDING, some))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"05"', b'"5"'),
        (b'"05"', b'"0A"'),
        (b'"05"', b'"0 5"'),
        (b'"05"', b"5"),
        (b'"05"', b"null"),
        (b'"05"', b'"\xff"'),
        (b'"05"', b'"\\ud800"'),
        (b'"query"', b'"Query"'),
        (b'"query"', b'""'),
        (b'"query"', b"0"),
        (b'"0202', b'"02'),
        (b'"0202', b'"020202'),
        (b'"0202', b'"zz02'),
        (b'"data":"05",', b""),
        (b'"manifest"', b'"manifest2"'),
        (b'"manifest":"', b'"manifest":1,"x":"'),
        (b'{"data"', b'{"more":1,"data"'),
        (b'{"data"', b'[{"data"'),
        (b'{"data"', b'\xef\xbb\xbf{"data"'),
        (b'"cdcdcdcdcdcdcdcd"}', b'"cdcdcdcdcdcdcdcd"}}'),
        (b'"cdcdcdcdcdcdcdcd"}', b'"cdcdcdcdcdcdcdcd",}'),
        (b'"cdcd', b'"CDcd'),
        (b'"cdcd', b'"cd'),
        (b'"cdcd', b'"cdcdcd'),
        (b',"scheme":"cdcdcdcdcdcdcdcd"', b""),
        (b'"abab', b'"ab'),
        (b'"abab', b'"ABab'),
    ],
)
def test_bad_json_reports(old: bytes, new: bytes) -> None:
    changed = REPORT_VECTOR.replace(old, new, 1)
    assert changed != REPORT_VECTOR
    with pytest.raises(ParameterError):
        read_report("01" * 16, changed)


@pytest.mark.parametrize("name", ["", "01" * 15, "01" * 17, "AB" * 16, "zz" * 16, "0" * 31, " " + "01" * 16])
def test_bad_report_ids(name: str) -> None:
    with pytest.raises(ParameterError):
        read_report(name, REPORT_VECTOR)


@pytest.mark.parametrize(
    ("report_id", "pseudonym", "question"),
    [(b"", NAME, 0), (ID + b"\0", NAME, 0), (ID, NAME[1:], 0), (ID, NAME, 3), (ID, NAME, -1)],
)
def test_what_is_no_report(report_id: bytes, pseudonym: bytes, question: int) -> None:
    with pytest.raises(ParameterError):
        UploadedReport(report_id, pseudonym, question, b"\5")


def terms(method: str, epsilon: float) -> Terms:
    return Terms(
        "c1",
        "T",
        **WHO,
        opens="2026-11-01",
        opt_in_until="2026-11-20",
        reports_until="2026-11-30",
        method=method,
        epsilon=epsilon,
    )


def head_list(queries: int, urls: int) -> HeadList:
    return HeadList.of_records((f"q{query:04}", f"u{url:04}") for query in range(queries) for url in range(urls))


@settings(max_examples=60)
@given(st.integers(0, 12), st.integers(1, 5), st.sampled_from([0.5, 1.0, 4.0, 8.0]), st.data())
def test_possible_is_what_can_be_decoded(queries: int, urls: int, epsilon: float, data: st.DataObject) -> None:
    known = head_list(queries, urls)
    scheme = terms("blendp", epsilon).scheme(known, 0.5)
    assert set(scheme.questions) == {"query", "record"}
    for question, items in (("query", queries + 1), ("record", known.cells)):
        randomiser = SubsetSelection(epsilon, items)
        width = randomiser.report_bytes
        last = (randomiser.subsets - 1).to_bytes(width, "big")
        tried = [bytes(width), last, b"\xff" * width, b"", last + b"\0", b"\0" + last, last[:-1]]
        if randomiser.subsets < 256**width:
            tried.append(randomiser.subsets.to_bytes(width, "big"))
        for sent in [*tried, *data.draw(st.lists(st.binary(min_size=width, max_size=width), max_size=5))]:
            try:
                fine = bool(randomiser.decode(sent))
            except ParameterError:
                fine = False
            assert scheme.possible(question, sent) is fine


@pytest.mark.parametrize(("queries", "urls"), [(0, 1), (1, 1), (20, 11), (17, 14), (16, 15), (300, 1)])
def test_possible_cells_of_the_published_method(queries: int, urls: int) -> None:
    known = head_list(queries, urls)
    scheme = terms("published", 4.0).scheme(known, 0.85)
    width = 1 if known.cells <= 256 else 2
    assert set(scheme.questions) == {"cell"}
    for number in {0, known.cells - 1}:
        assert scheme.possible("cell", number.to_bytes(width, "big"))
    assert not scheme.possible("cell", b"")
    assert not scheme.possible("cell", bytes(width + 1))
    if known.cells < 256**width:
        assert not scheme.possible("cell", known.cells.to_bytes(width, "big"))


def test_questions_that_are_not_asked() -> None:
    blendp, published = (terms(method, 4.0).scheme(head_list(2, 2), 0.5) for method in ("blendp", "published"))
    assert not blendp.possible("cell", b"\0")
    assert not any(published.possible(name, b"\0") for name in ("query", "record"))
    assert not blendp.possible("another", b"\0")
