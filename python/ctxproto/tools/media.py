"""Media in base64: bytes that nobody reads as text, and that would be damaged by a change."""

from __future__ import annotations

import base64
import re

__all__ = ["is_media"]

_BASE64 = re.compile(r"[A-Za-z0-9+/\s]*={0,2}\s*")
_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w.+=-]+)*;base64,")

# What files of each kind begin with; some of them only after a length.
_BOXES = rb".{4}ftyp"
_BEGINNINGS = {
    kind: re.compile(rb"|".join(beginnings), re.DOTALL)
    for kind, beginnings in {
        "image": (rb"\x89PNG\r\n\x1a\n", rb"\xff\xd8\xff", rb"GIF8[79]a", rb"RIFF.{4}WEBP", rb"BM.{4}\0{4}", _BOXES),
        "audio": (rb"RIFF.{4}WAVE", rb"ID3", rb"\xff[\xe0-\xff]", rb"OggS", rb"fLaC", rb"\x1a\x45\xdf\xa3", _BOXES),
        "video": (rb"RIFF.{4}AVI ", rb"OggS", rb"FLV\x01", rb"\0\0\x01[\xb3\xba]", rb"\x1a\x45\xdf\xa3", _BOXES),
        "application": (rb"%PDF-", rb"PK\x03\x04", rb"\x1f\x8b", rb"\xd0\xcf\x11\xe0"),
    }.items()
}
# As many letters as the longest of them takes.
_LOOK = 32


def is_media(text: str, declared: str | None = None) -> bool:
    """Whether a string is base64, or a `data:` URL, of what it is said to be.

    Text can be written in base64, too. So the bytes must begin as files of the declared kind do ("image/png", "wav"):
    what has no such beginning, as texts and raw samples do, is no media here.

    Args:
        text: The string.
        declared: Its media type, or the name of a format of audio; a URL says it itself. Any kind when neither does.

    >>> is_media("data:image/gif;base64,R0lGODlhAQABAAAAACw="), is_media("R0lGODlhAQABAAAAACw=", "audio/mpeg")
    (True, False)
    """
    url = _URL.match(text)
    if url is not None:
        declared = url[1] or declared
    start = 0 if url is None else url.end()
    if _BASE64.fullmatch(text, start) is None:
        return False
    family = None if declared is None else declared.partition("/")[0].lower() if "/" in declared else "audio"
    known = _BEGINNINGS.values() if family is None else [_BEGINNINGS[family]] if family in _BEGINNINGS else []
    letters = re.sub(r"\s", "", text[start : start + 2 * _LOOK])[:_LOOK].rstrip("=")
    head = base64.b64decode(letters[: len(letters) // 4 * 4])
    return any(beginning.match(head) for beginning in known)
