"""Checking a journal: any single change is found, whatever the file holds; and no acknowledged record is ever lost."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aide_jupyter import records as r
from aide_jupyter.audit import chain as chain_module
from aide_jupyter.audit.chain import GENESIS, Anchor, check_chain, read_records
from aide_jupyter.audit.journal import Journal, SigningKey
from aide_jupyter.audit.lines import Spelling, canonical, parse, plain
from aide_jupyter.errors import AlteredError

RUN = "20261130t191148-1f3a9c02"


class Sample:
    """A journal's bytes and every anchor that it has had, made once; and a folder to put changed ones in."""

    def __init__(self, folder: Path, opened: Callable[[SigningKey], r.Opened]) -> None:
        self.key = SigningKey.generate()
        journal = Journal.create(folder / "run", RUN, self.key, opened(self.key), r.SYSTEM)
        self.anchors = [journal.head]
        journal.on_append.append(lambda record: self.anchors.append(Anchor(record.seq, record.hash)))
        journal.append(r.Chosen(candidate="c0001", operator="draft"))
        journal.append(r.Proposed(candidate="c0001", plan="naïve \u2028 plan", code='print("1e3", 0.1)\n'))
        journal.append(r.Limited(what="tokens", limit=1e300, value=1.5e-7))
        journal.append(r.Paused(why="asked"))
        journal.append(r.Resumed())
        journal.close()
        self.path = folder / "changed.jsonl"
        self.bytes = (folder / "run" / "journal.jsonl").read_bytes()
        self.lines = self.bytes.splitlines(keepends=True)
        self.head = journal.head

    def check(self, content: bytes, *anchors: Anchor) -> chain_module.ChainReport:
        self.path.write_bytes(content)
        return check_chain(self.path, keys=[self.key.fingerprint], anchors=anchors or [self.head])

    def sign(self, key: SigningKey, *objects: dict[str, Any]) -> list[bytes]:
        """These records chained and signed anew."""
        prev, lines = "0" * 64, []
        for fields in objects:
            fields["prev"] = prev
            if fields["kind"] == "opened":
                fields["data"]["key"] = key.public
            fields["hash"] = prev = Spelling(fields).hash
            fields["signature"] = key.sign(bytes.fromhex(prev))
            lines.append(canonical(fields) + b"\n")
        return lines


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, opened: Callable[[SigningKey], r.Opened]) -> Sample:
    return Sample(tmp_path_factory.mktemp("chain"), opened)


def test_an_untouched_journal_is_intact_under_every_anchor_it_has_had(sample: Sample) -> None:
    report = sample.check(sample.bytes, GENESIS, *sample.anchors)
    assert (report.intact, report.anchored, report.key_known, report.closed) == (True, True, True, False)
    assert (report.run, report.records, report.head, report.torn) == (RUN, 6, sample.head, 0)
    assert report.whole == len(sample.bytes)
    assert report.key == sample.key.fingerprint


def test_without_an_anchor_or_a_known_key_it_says_so(sample: Sample) -> None:
    sample.path.write_bytes(sample.bytes)
    report = check_chain(sample.path, keys=["0" * 32], anchors=[GENESIS])
    assert (report.intact, report.anchored, report.key_known) == (True, False, False)


def test_a_closed_run_is_told_from_an_open_one(journal: Journal) -> None:
    journal.append(r.Closed(why="steps"))
    assert check_chain(journal.folder / "journal.jsonl", keys=[], anchors=[]).closed


@st.composite
def _changes(draw: st.DrawFn) -> Callable[[bytes, list[bytes]], bytes]:
    kind = draw(st.sampled_from(["byte", "insert", "remove", "line", "swap", "repeat", "tail", "line bytes"]))
    at, to, new = draw(st.floats(0, 1)), draw(st.floats(0, 1)), draw(st.binary(min_size=1, max_size=6))

    def apply(whole: bytes, lines: list[bytes]) -> bytes:
        place, line = int(at * (len(whole) - 1)), int(at * (len(lines) - 1))
        other, end = int(to * (len(lines) - 1)), int(to * len(whole))
        rows = list(lines)
        if kind == "byte":
            return whole[:place] + new[:1] + whole[place + 1 :]
        if kind == "insert":
            return whole[:place] + new + whole[place:]
        if kind == "remove":
            return whole[:place] + whole[max(place + 1, end) :]
        if kind == "line":
            del rows[line]
        elif kind == "swap":
            rows[line], rows[other] = rows[other], rows[line]
        elif kind == "repeat":
            rows.insert(other, rows[line])
        elif kind == "tail":
            return whole[:end]
        else:
            rows[line] = new + b"\n"
        return b"".join(rows)

    return apply


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(change=_changes())
def test_any_single_change_is_found_given_the_anchor(sample: Sample, change: Callable[..., bytes]) -> None:
    changed = change(sample.bytes, sample.lines)
    report = sample.check(changed)
    assert report.intact == (changed == sample.bytes)
    assert report.anchored == report.intact
    if report.first_bad is not None:
        pairs = itertools.zip_longest(re.findall(rb"[^\n]*\n|[^\n]+", changed), sample.lines)
        same = next(number for number, (new, old) in enumerate(pairs) if new != old)
        assert report.first_bad == same
        assert f"Record {same} " in report.reason


def test_every_bit_of_every_byte_counts(sample: Sample) -> None:
    """Bits, so that the case of a hexadecimal digit, in a signature too, is among the changes."""
    start = len(sample.bytes) - len(sample.lines[-1])
    for place in range(start, len(sample.bytes)):
        for bit in (0, 5):
            changed = bytearray(sample.bytes)
            changed[place] ^= 1 << bit
            assert not sample.check(bytes(changed)).intact, (place, bit)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda text: text.encode("utf-8"))))
def test_whatever_a_file_holds_is_a_report_and_never_an_exception(sample: Sample, content: bytes) -> None:
    assert not sample.check(content).intact
    assert not sample.check(sample.bytes + content + b"\n", sample.head).intact


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"", "not JSON"),
        (b"null", "not a JSON object"),
        (b"\xff", "not UTF-8"),
        (b'{"a":NaN}', "not JSON"),
        (b'{"a":1,"a":1}', "canonical"),
        (b'{"a":"\\ud800"}', "canonical"),
        (b'{"\\ud800":1}', "canonical"),
        (b'{"a":' + b"9" * 5000 + b"}", "canonical"),
        (b'{"a":' * 100_000, "not JSON"),
        (b'{"a":1}', "not a record"),
    ],
)
def test_a_bad_line_is_named_with_its_reason(sample: Sample, line: bytes, words: str) -> None:
    report = sample.check(sample.bytes + line + b"\n")
    assert report.first_bad == 6
    assert words in report.reason
    assert report.head == sample.head


def test_a_line_without_end_is_not_read_into_memory(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_module, "LINE_BYTES", 4096)
    assert "longer than 4096" in sample.check(sample.bytes + b"x" * 5000).reason
    with pytest.raises(AlteredError, match="longer than 4096"):
        list(read_records(sample.path))


def test_a_torn_tail_is_counted_and_is_no_alteration(sample: Sample) -> None:
    report = sample.check(sample.bytes + sample.lines[1][:40])
    assert (report.intact, report.torn, report.records) == (True, 40, 6)
    assert [record.seq for record in read_records(sample.path)] == list(range(6))


def test_an_older_copy_and_an_empty_file_lack_the_tail(sample: Sample) -> None:
    for keep in range(6):
        report = sample.check(b"".join(sample.lines[:keep]))
        assert (report.intact, report.first_bad, report.records) == (False, None, keep)
        assert "tail is missing" in report.reason
    assert "empty" in check_chain(_write(sample.path, b""), keys=[], anchors=[]).reason


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_run_signed_again_is_found_whatever_the_key(sample: Sample) -> None:
    objects = [parse(line[:-1]) for line in sample.lines]
    other = sample.check(b"".join(sample.sign(SigningKey.generate(), *objects)), sample.anchors[0])
    assert (other.first_bad, other.key_known) == (0, False)
    assert "rewritten" in other.reason
    objects[4]["data"]["why"] = "another reason"
    same = sample.check(b"".join(sample.sign(sample.key, *objects)))
    assert (same.first_bad, same.key_known, same.records) == (5, True, 5)
    first = sample.check(b"".join(sample.sign(sample.key, *objects)), *sample.anchors)
    assert (first.first_bad, first.records) == (4, 4)


def test_a_resigned_journal_without_anchor_is_consistent_but_counts_under_no_known_key(sample: Sample) -> None:
    objects = [parse(line[:-1]) for line in sample.lines]
    sample.path.write_bytes(b"".join(sample.sign(SigningKey.generate(), *objects)))
    report = check_chain(sample.path, keys=[sample.key.fingerprint], anchors=[])
    assert (report.intact, report.key_known, report.anchored) == (True, False, False)


def test_a_record_of_another_run_or_a_first_record_that_opens_none_is_bad(sample: Sample) -> None:
    objects = [parse(line[:-1]) for line in sample.lines]
    objects[3]["run"] = "another"
    assert "another run" in sample.check(b"".join(sample.sign(sample.key, *objects))).reason
    paused = {**objects[4], "seq": 0}
    assert "does not open a run" in sample.check(b"".join(sample.sign(sample.key, paused))).reason


def test_signed_records_of_a_fork_or_with_a_wrong_number_do_not_fit_in(sample: Sample) -> None:
    objects = [parse(line[:-1]) for line in sample.lines]
    objects[3]["data"]["limit"] = 2.0
    fork = sample.sign(sample.key, *objects)
    report = sample.check(b"".join([*sample.lines[:4], *fork[4:]]), sample.anchors[0])
    assert (report.first_bad, "does not follow" in report.reason) == (4, True)
    objects[4]["seq"] = 5
    assert "its number is 5" in sample.check(b"".join(sample.sign(sample.key, *objects)), sample.anchors[0]).reason


def test_a_record_of_an_unknown_kind_and_floats_beyond_exact_integers_check_fine(sample: Sample) -> None:
    objects = [parse(line[:-1]) for line in sample.lines]
    objects[4] |= {"kind": "dreamt", "data": {"numbers": [1e16, 2.0**53, -1e17, 1e20, 1e21, 5e-324, -0.0, 123456789]}}
    sample.path.write_bytes(b"".join(sample.sign(sample.key, *objects)))
    assert check_chain(sample.path, keys=[], anchors=[]).intact
    assert list(read_records(sample.path))[4].body() is None


@settings(max_examples=300, deadline=None)
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )
)
def test_what_is_written_canonically_reads_back_as_the_same_bytes(value: Any) -> None:
    line = canonical({"a": plain(value)})
    assert canonical(parse(line)) == line


def test_a_missing_file_a_link_a_folder_and_a_fifo_are_reports(sample: Sample, tmp_path: Path) -> None:
    sample.path.write_bytes(sample.bytes)
    (tmp_path / "link").symlink_to(sample.path)
    os.mkfifo(tmp_path / "fifo")
    for name, words in (("none", "missing"), ("link", "link"), ("fifo", "regular"), (".", "regular")):
        report = check_chain(tmp_path / name, keys=[], anchors=[])
        assert words in report.reason
        assert (report.intact, report.first_bad) == (False, None)


# --- kill -9 ----------------------------------------------------------------------------------------------------------

_WRITER = """
import sys
from pathlib import Path
from aide_jupyter import records as r
from aide_jupyter.audit.journal import GENESIS, Journal, SigningKey
key = SigningKey.load_or_create(Path(sys.argv[2]))
journal = Journal.open(Path(sys.argv[1]), key, [GENESIS])
for number in range(100_000):
    text = journal.text(f"{number} " * (900 if number % 7 else 2000))
    journal.append(r.Reviewed.model_validate({"candidate": "c0001", "failed": False, "summary": text}))
    sys.stdout.write(f"{journal.head.seq} {journal.head.hash}\\n")
    sys.stdout.flush()
"""


def test_no_acknowledged_record_is_lost_however_the_writer_is_killed(
    tmp_path: Path, opened: Callable[[SigningKey], r.Opened]
) -> None:
    chance = random.Random(7)
    keyfile, folder = tmp_path / "keys" / "k.pem", tmp_path / "run"
    key = SigningKey.load_or_create(keyfile)
    journal = Journal.create(folder, RUN, key, opened(key), r.SYSTEM)
    journal.append(r.Chosen(candidate="c0001", operator="draft"))
    head, killed = journal.head, 0
    journal.close()
    for _ in range(15):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(folder), str(keyfile)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            wanted = chance.randrange(1, 40)
            said = [writer.stdout.readline() for _ in range(wanted)]
            writer.send_signal(signal.SIGKILL)
            said += writer.stdout.readlines()
        killed += writer.returncode == -signal.SIGKILL
        seq, digest = [line for line in said if line.endswith("\n")][-1].split()
        head = Anchor(int(seq), digest)
        path = folder / "journal.jsonl"
        report = check_chain(path, keys=[key.fingerprint], anchors=[head])
        assert report.intact, report.reason
        assert report.head.seq - head.seq <= 1
        again = Journal.open(folder, key, [head])
        assert again.head.seq - head.seq <= 2
        head = again.head
        again.close()
    assert killed == 15
    assert [record.seq for record in read_records(path)] == list(range(head.seq + 1))
    assert json.loads(path.read_bytes().splitlines()[-1])["seq"] == head.seq
