"""A TCP proxy whose connections can fall silent: still open, and nothing comes through."""

from __future__ import annotations

import asyncio
import contextlib
from types import TracebackType
from typing import Self


class Proxy:
    """Forwards connections to a port of 127.0.0.1; `port` is its own."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._silent: set[object] = set()
        self._connections: set[object] = set()
        self._pumps: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def silence(self) -> int:
        """Forward nothing more on the connections that there are; how many. New ones work."""
        self._silent |= self._connections
        return len(self._connections)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mark = object()
        self._connections.add(mark)
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        for source, sink in ((reader, back), (there, writer)):
            pump = asyncio.create_task(self._pump(mark, source, sink))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    async def _pump(self, mark: object, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            try:
                while data := await source.read(65536):
                    if mark not in self._silent:
                        sink.write(data)
                        await sink.drain()
            finally:
                self._connections.discard(mark)
                sink.close()
