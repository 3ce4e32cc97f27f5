import asyncio
from importlib.util import find_spec

import pytest


class Hurried:
    """asyncio with shorter naps."""

    def __getattr__(self, name):
        return getattr(asyncio, name)

    async def sleep(self, seconds):
        await asyncio.sleep(min(seconds, 0.01))


@pytest.fixture(scope="session", autouse=True)
def _servers_end_soon():
    """Let uvicorn look more often than ten times a second whether a studio is to end."""
    with pytest.MonkeyPatch.context() as patch:
        if find_spec("uvicorn"):
            patch.setattr("uvicorn.server.asyncio", Hurried())
        yield
