from __future__ import annotations

import json

import pytest

from taskstate.errors import CorruptRecordError
from taskstate.storage.engine import Record
from taskstate.storage.recordfile import pack, unpack, unpack_head

RECORD = Record(b'{"key":"x","value":[1,","]}', "v1")


@pytest.mark.parametrize("key", ["", "k", 'k","value":\n', '"', "\n", "\u2028", ',"value":'])
def test_a_record_is_one_strict_json_document_and_comes_back(key: str) -> None:
    data = pack(key, RECORD)
    assert json.loads(data) == {"key": key, "version": "v1", "value": {"key": "x", "value": [1, ","]}}
    assert unpack(data, key) == RECORD
    assert unpack_head(data.split(b"\n", 1)[0]) == (key, "v1")


def test_a_document_that_someone_laid_out_anew_is_read() -> None:
    data = json.dumps(json.loads(pack("k", RECORD)), indent=4).encode()
    assert json.loads(unpack(data, "k").text) == json.loads(RECORD.text)
    assert unpack(data, "k").version == "v1"


def test_a_record_cut_off_anywhere_is_corrupt() -> None:
    data = pack("k", RECORD)
    for size in range(len(data) - 1):  # the last byte is a line end
        with pytest.raises(CorruptRecordError):
            unpack(data[:size], "k")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"1",
        b"[]",
        b'{"key":"k"}',
        b'{"key":"k","version":"v","value":1,"more":2}',
        b'{"key":1,"version":"v","value":1}',
        b'{"key":"k","version":null,"value":1}',
        b'{"key":"k","version":{},"value":\n1\n}\n',
        b'{"key":"k","version":"v","more":1,"value":\n1\n}',
    ],
)
def test_other_documents_are_no_records(data: bytes) -> None:
    with pytest.raises(CorruptRecordError, match=r"^k: "):
        unpack(data, "k")


def test_the_record_of_another_key_is_refused() -> None:
    with pytest.raises(CorruptRecordError, match="another key"):
        unpack(pack("other", RECORD), "k")
