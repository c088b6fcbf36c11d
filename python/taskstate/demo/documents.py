"""Find the documents of a folder and read each one within bounds."""

from __future__ import annotations

import codecs
import hashlib
import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from taskstate.restart import find_secrets

READ_LIMIT = 256 << 10
"""Bytes of one document that are read at most."""

_LONG = 150
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1b")


class FolderError(Exception):
    """The folder can't be reviewed; the message is for the person who named it."""


class UnreadableError(Exception):
    """One file is no document; the message says why."""


@dataclass(frozen=True)
class Source:
    """A document as it was read: `sha256` and `bytes_read` cover what was read, `size` the whole file."""

    name: str
    text: str
    sha256: str
    bytes_read: int
    size: int
    encoding: str
    notes: tuple[str, ...]


def document_id(name: str) -> str:
    """The id under which a document is recorded: its name, unless that is too long for one or looks like a secret."""
    if len(name) <= _LONG and name.strip() and not find_secrets(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8")).hexdigest()[:12]
    return f"document~{digest}" if find_secrets(name) else f"{name[:_LONG]}~{digest}"


@dataclass(frozen=True)
class Listing:
    """The files of a folder: paths to read, in order of name, and what was left out with the reason."""

    paths: tuple[Path, ...]
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Folder:
    """The documents of a folder in order; those that can't be read, and what else was left out, with the reasons."""

    sources: tuple[Source, ...]
    unreadable: tuple[tuple[str, str], ...]
    others: tuple[tuple[str, str], ...]

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """All that is not reviewed."""
        return self.others + self.unreadable


def read_folder(folder: Path, copies: Path | None = None) -> Folder:
    """Read the documents of a folder; of one that has an amended copy below `copies`, that copy. Raises FolderError."""
    listing = list_folder(folder)
    sources: list[Source] = []
    unreadable: list[tuple[str, str]] = []
    for path in listing.paths:
        try:
            source = read_document(path)
            # The copy stands for one version of the document: the user's next version counts by itself.
            copy = None if copies is None else copies / source.sha256[:12] / path.name
            if copy is not None and copy.is_file():
                source = read_document(copy)
                source = replace(source, notes=(*source.notes, "a copy with amendments was read instead of it"))
            sources.append(source)
        except UnreadableError as reason:
            unreadable.append((display_name(path), str(reason)))
    return Folder(tuple(sources), tuple(unreadable), listing.left_out)


def display_name(path: Path) -> str:
    """The file name as text that can be stored and printed: undecodable bytes and controls are escaped."""
    text = os.fsencode(path.name).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def list_folder(folder: Path) -> Listing:
    """Sort the entries of a folder into documents and others; subfolders and hidden files are passed over.

    Raises FolderError when there is no such folder or it can't be opened.
    """
    try:
        entries = sorted(folder.iterdir(), key=lambda path: os.fsencode(path.name))
    except FileNotFoundError:
        raise FolderError(f"there is no folder {str(folder)!r}") from None
    except NotADirectoryError:
        raise FolderError(f"{str(folder)!r} is a file; name the folder that holds the documents") from None
    except OSError as error:
        raise FolderError(f"the folder {str(folder)!r} can't be read: {error.strerror}") from None
    paths: list[Path] = []
    left_out: list[tuple[str, str]] = []
    names: set[str] = set()
    for path in entries:
        if path.name.startswith("."):
            continue
        reason = _why_not(path, folder)
        if reason is None and display_name(path) in names:
            reason = "its name can't be told from another's"
        if reason is None:
            paths.append(path)
            names.add(display_name(path))
        elif reason:
            left_out.append((display_name(path), reason))
    return Listing(tuple(paths), tuple(left_out))


def _why_not(path: Path, folder: Path) -> str | None:
    """None for a document, an empty string for what is passed over in silence, else the reason."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        kind = "link that leads nowhere" if path.is_symlink() else "can't be read"
        return f"{kind} ({error.strerror})"
    if stat.S_ISDIR(mode):
        return ""
    if not stat.S_ISREG(mode):
        return "not a regular file"
    if path.is_symlink() and path.resolve().parent == folder.resolve():
        return f"link to {display_name(path.resolve())} in the same folder"
    return None


def read_document(path: Path, limit: int = READ_LIMIT) -> Source:
    """Read at most `limit` bytes of a text file.

    Bytes that don't fit the encoding are replaced and noted. Raises UnreadableError for a file
    that can't be opened, is empty or is not text.
    """
    try:
        with open(path, "rb") as handle:
            size = os.fstat(handle.fileno()).st_size
            content = handle.read(limit)
    except OSError as error:
        raise UnreadableError(f"can't be read ({error.strerror})") from None
    if not content.strip():
        raise UnreadableError("empty" if size <= limit else f"nothing but white space in its first {limit:,} bytes")
    size = max(size, len(content))
    text, encoding, notes = _decode(content, complete=size == len(content))
    if not text.strip():
        raise UnreadableError("empty")
    if size > len(content):
        notes.append(f"only the first {len(content):,} of {size:,} bytes were read")
    digest = hashlib.sha256(content).hexdigest()
    return Source(display_name(path), text, digest, len(content), size, encoding, tuple(notes))


def _decode(content: bytes, *, complete: bool) -> tuple[str, str, list[str]]:
    encoding = "utf-8"
    for mark, name in _BOMS:
        if content.startswith(mark):
            content, encoding = content[len(mark) :], name
            break
    else:
        sample = content[:8192]
        if b"\0" in sample or sum(byte in _CONTROLS for byte in sample) > len(sample) // 20:
            raise UnreadableError("not text (binary data)")
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    # The limit may cut a character in two: that is no fault of the file.
    text = decoder.decode(content, final=complete)
    notes = []
    # A replacement character that the author wrote is rare, and then the note is still of use.
    if damaged := text.count("\N{REPLACEMENT CHARACTER}"):
        notes.append(f"{damaged:,} places are not valid {encoding.upper()} and were replaced")
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding, notes
