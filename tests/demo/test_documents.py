"""Which files of a folder are documents, and how one is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from taskstate.demo.documents import (
    READ_LIMIT,
    FolderError,
    UnreadableError,
    display_name,
    list_folder,
    read_document,
    read_folder,
)

pytestmark = pytest.mark.once


def test_files_come_in_order_of_name_without_folders_and_hidden_files(tmp_path: Path) -> None:
    for name in ("b.txt", "a b.md", "Ünïcode 一.txt", ".hidden"):
        (tmp_path / name).write_text("text")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.txt").write_text("text")
    listing = list_folder(tmp_path)
    assert [path.name for path in listing.paths] == ["a b.md", "b.txt", "Ünïcode 一.txt"]
    assert listing.left_out == ()


def test_links_are_followed_but_a_document_is_not_read_twice(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "elsewhere.txt").write_text("text")
    (folder / "a.txt").write_text("text")
    (folder / "again.txt").symlink_to("a.txt")
    (folder / "lost.txt").symlink_to("nowhere.txt")
    (folder / "outside.txt").symlink_to(tmp_path / "elsewhere.txt")
    (folder / "up").symlink_to(tmp_path)
    listing = list_folder(folder)
    assert [path.name for path in listing.paths] == ["a.txt", "outside.txt"]
    assert [name for name, _ in listing.left_out] == ["again.txt", "lost.txt"]
    assert listing.left_out[0][1] == "link to a.txt in the same folder"


def test_what_is_no_regular_file_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert list_folder(tmp_path).left_out == (("pipe", "not a regular file"),)


def test_a_name_that_is_not_text_is_shown_escaped(tmp_path: Path) -> None:
    raw = os.fsdecode(b"bad\xff\x1bname.txt")
    (tmp_path / raw).write_text("text")
    (path,) = list_folder(tmp_path).paths
    assert display_name(path) == "bad\\xff\\x1bname.txt"
    assert read_document(path).name.encode("utf-8")


def test_two_names_that_would_look_alike_are_not_mixed_up(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"a\xff.txt")).write_text("one")
    (tmp_path / "a\\xff.txt").write_text("two")
    listing = list_folder(tmp_path)
    assert len(listing.paths) == 1
    assert [reason for _, reason in listing.left_out] == ["its name can't be told from another's"]


@pytest.mark.parametrize(("content", "reason"), [(b"", "empty"), (b" \n\t\n", "empty"), (b"\xef\xbb\xbf ", "empty")])
def test_an_empty_file_is_no_document(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(UnreadableError, match=reason):
        read_document(tmp_path / "a.txt")


@pytest.mark.parametrize("content", [b"PK\x03\x04\x00\x00text", bytes(range(256)) * 20, b"%PDF-1.7\n\x00\x01"])
def test_binary_data_is_no_document(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(UnreadableError, match="not text"):
        read_document(tmp_path / "a.txt")


def test_a_file_that_vanished_or_turned_into_a_folder_is_reported(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.txt", tmp_path):
        with pytest.raises(UnreadableError, match="can't be read"):
            read_document(path)


def test_bytes_that_are_not_utf8_are_replaced_and_noted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"Caf\xe9: EUR 5.00\n")
    source = read_document(tmp_path / "a.txt")
    assert source.text == "Caf\ufffd: EUR 5.00\n"
    assert source.notes == ("1 places are not valid UTF-8 and were replaced",)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_byte_order_mark_tells_the_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.txt").write_bytes("Grüße 一\r\nzwei\r".encode(encoding))
    source = read_document(tmp_path / "a.txt")
    assert (source.text, source.notes) == ("Grüße 一\nzwei\n", ())


def test_of_a_huge_file_only_the_beginning_is_read_and_that_is_said(tmp_path: Path) -> None:
    with open(tmp_path / "a.txt", "wb") as handle:
        handle.write(b"x" + "ü".encode() * READ_LIMIT)
        handle.truncate(1 << 33)
    source = read_document(tmp_path / "a.txt")
    assert (source.bytes_read, source.size) == (READ_LIMIT, 1 << 33)
    assert source.notes == (f"only the first {READ_LIMIT:,} of {1 << 33:,} bytes were read",)


def test_a_missing_folder_and_a_file_instead_of_one_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(FolderError, match="there is no folder"):
        list_folder(tmp_path / "none")
    with pytest.raises(FolderError, match="is a file"):
        list_folder(tmp_path / "a.txt")


def test_what_was_left_out_is_told_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "b.bin").write_bytes(b"\0")
    (tmp_path / "c.txt").write_bytes(b"")
    (tmp_path / "d.txt").symlink_to("a.txt")
    folder = read_folder(tmp_path)
    assert [source.name for source in folder.sources] == ["a.txt"]
    assert folder.unreadable == (("b.bin", "not text (binary data)"), ("c.txt", "empty"))
    assert folder.left_out == (("d.txt", "link to a.txt in the same folder"), *folder.unreadable)
