"""Output made plain and bounded, without a kernel."""

from __future__ import annotations

import io
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from aide_jupyter.records import ErrorOutput, StreamOutput, TextOutput
from aide_jupyter.sandbox.capture import KEPT_CHARS, PICTURES, Capture
from aide_jupyter.sandbox.messages import Failure, Shown
from aide_jupyter.sandbox.outcome import Picture, check_program
from aide_jupyter.sandbox.pictures import PIXELS, written_anew
from aide_jupyter.sandbox.terminal import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        (" 10%\r 50%\r100%\n", "100%\n"),
        ("long line\rshort", "shortline"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("abc\b\bX", "aXc"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://host/\x07link\x1b]8;;\x07", "link"),
        ("\x1b[2J\x1bcgone", "gone"),
        ("\x9b31mred\x00\x07\x7f", "red"),
        ("\x1bPdevice\x1b\\after", "after"),
        ("\ud800", "\ufffd"),
    ],
)
def test_text_is_what_a_terminal_would_have_left(text, shown):
    assert plain(text) == shown


@given(st.text(st.sampled_from("ab\r\b\n\t\x1b[]0;mPK\\\x07\x9b\x9d\ud800\x00")))
def test_no_control_character_survives_and_plain_text_stays(text):
    once = plain(text)
    assert all(char >= " " or char in "\n\t" for char in once)
    once.encode("utf-8")
    assert plain(once) == once


@pytest.mark.parametrize(
    "text", ["a" * 200_000 + "x\r" * 200_000, "\x1b]" * 300_000, "\b" * 500_000, "\x1b[1" * 200_000]
)
def test_making_plain_takes_time_in_proportion(text):
    began = time.process_time()
    plain(text)
    assert time.process_time() - began < 3


def _capture(*pieces: tuple[str, bytes]) -> Capture:
    capture = Capture()
    for name, data in pieces:
        capture.feed(name, data)
    capture.close()
    return capture


def test_pieces_of_a_stream_are_one_output_and_streams_keep_their_order():
    capture = _capture(("stdout", b"a"), ("stdout", "é".encode()[:1]), ("stdout", "é".encode()[1:]), ("stderr", b"w"))
    assert capture.outputs() == [StreamOutput(name="stdout", text="aé"), StreamOutput(name="stderr", text="w")]


def test_bytes_that_are_no_text_are_replaced():
    assert _capture(("stdout", b"\xff\xc3")).outputs() == [StreamOutput(name="stdout", text="\ufffd\ufffd")]


def test_of_long_output_the_beginning_and_the_end_are_kept_and_the_rest_is_counted():
    capture = Capture()
    total = 0
    for number in range(40_000):
        line = b"line %d of a long story\n" % number
        total += len(line)
        capture.feed("stdout", line)
    capture.close()
    first, note, last = (str(item.text) for item in capture.outputs())
    assert first.startswith("line 0 of") and last.endswith("line 39999 of a long story\n")
    assert len(first) == KEPT_CHARS and KEPT_CHARS <= len(last) < KEPT_CHARS + 10_000
    assert note == f"\n[{capture.truncated} bytes of output were not kept]\n"
    assert len(first) + len(last) + capture.truncated == total


def test_what_was_displayed_is_kept_in_its_place():
    capture = Capture()
    capture.feed("stdout", b"before\n")
    capture.show(Shown("table", None))
    capture.feed("stdout", b"after\n")
    capture.fail(Failure("ValueError", "bad", "trace"))
    kinds = [type(item) for item in capture.outputs()]
    assert kinds == [StreamOutput, TextOutput, StreamOutput, ErrorOutput]


def test_a_displayed_value_too_long_is_shortened_and_later_ones_are_kept():
    capture = Capture()
    for text in ("x" * 1_000_000, "small"):
        capture.show(Shown(text, None))
    first, second = (str(item.text) for item in capture.outputs())
    assert len(first) < 70_000 and "characters were not kept" in first
    assert second == "small"


def test_a_view_hears_everything_with_its_offset_and_the_metric_reader_whole_lines():
    heard: list[tuple[int, str]] = []
    read: list[str] = []
    capture = Capture(lambda offset, text: heard.append((offset, text)), read.append)
    for name, data in [
        ("stdout", b"Valid"),
        ("stderr", b"warning\n"),
        ("stdout", b"ation\rdone\n"),
        ("stdout", b"end"),
    ]:
        capture.feed(name, data)
    capture.close()
    assert heard == [(0, "Valid"), (5, "warning\n"), (13, "ation\rdone\n"), (24, "end")]
    assert read == ["warning\n", "Validation\ndone\n", "end\n"]


def _png(width: int = 4, height: int = 3) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), (250, 120, 10)).save(out, format="PNG", pnginfo=None)
    return out.getvalue()


def test_a_picture_is_written_anew_with_nothing_but_its_pixels():
    out = io.BytesIO()
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    info.add_text("secret", "CANARY")
    Image.new("RGB", (4, 3), (250, 120, 10)).save(out, format="PNG", pnginfo=info)
    png = written_anew(out.getvalue() + b"CANARY after the end")
    assert png is not None and b"CANARY" not in png
    with Image.open(io.BytesIO(png)) as picture:
        assert picture.size == (4, 3) and picture.getpixel((0, 0)) == (250, 120, 10)


def test_bombs_and_other_formats_are_no_pictures():
    assert written_anew(_png(4000, PIXELS // 4000 + 1)) is None
    out = io.BytesIO()
    Image.new("RGB", (4, 3)).save(out, format="GIF")
    for data in (out.getvalue(), b"", _png()[:40], b"\x89PNG\r\n\x1a\n" + b"\xff" * 1000):
        assert written_anew(data) is None


def test_no_more_pictures_are_kept_than_the_limit():
    capture = Capture()
    for _ in range(PICTURES + 5):
        capture.show(Shown("figure", _png()))
    outputs = capture.outputs()
    assert len(outputs) == PICTURES and all(isinstance(item, Picture) for item in outputs)
    assert capture.truncated == 5 * (len(_png()) + len("figure"))


@pytest.mark.parametrize("code", ["x = 1", "", "# comment", "if __name__ == '__main__':\n    pass", "'\\d'"])
def test_programs_are_programs(code):
    assert check_program(code) is None


@pytest.mark.parametrize(
    "code", ["!ls", "%time x", "x = 1\0", "def f(", "x = '\ud800'", "(" * 5000, "x = " + "-" * 100_000 + "1"]
)
def test_what_is_no_program_is_said(code):
    fault = check_program(code)
    assert fault is not None and fault.startswith("SyntaxError: ") and "\n" not in fault
