"""Pictures from a kernel: checked by size before they are decoded, and written anew, so that only pixels pass."""

from __future__ import annotations

import io
import warnings

from PIL import Image

PICTURE_BYTES = 3 << 20
PIXELS = 8_000_000
"""The most pixels of one picture: a figure of 10 by 8 inches at 300 dots an inch has 7.2 million."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MODES = {"1", "L", "LA", "P", "RGB", "RGBA"}


def written_anew(png: bytes) -> bytes | None:
    """The picture as a new PNG without text, profiles or further frames; None where it is no PNG or too large.

    Parameters
    ----------
    png
        Any bytes. More than :data:`PICTURE_BYTES`, or a picture of more than :data:`PIXELS`, is refused before a
        pixel is decoded.
    """
    if len(png) > PICTURE_BYTES or not png.startswith(_SIGNATURE):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
                if picture.width * picture.height > PIXELS:
                    return None
                picture.load()
                pixels = picture.copy() if picture.mode in _MODES else picture.convert("RGB")
        pixels.info = {}
        out = io.BytesIO()
        pixels.save(out, format="PNG")
    except Exception:  # a decoder that is fed hostile bytes can raise anything
        return None
    return out.getvalue()
