# SPDX-License-Identifier: Apache-2.0
"""The query beside a finding, run by the language on the store the finding is about."""

from __future__ import annotations

from pathlib import Path

from deja_tui.cal import Host, Session
from deja_tui.facade import Memory
from tests.support import DAY, NOW


def test_the_query_of_a_finding_finds_at_least_its_evidence(tmp_path: Path) -> None:
    """In whatever namespace and spelling it lies; failures from before the window are left out."""
    with Memory.open(tmp_path / "m.deja", clock=lambda: NOW) as memory:
        for n, space in enumerate(("alpha", "beta", "alpha")):
            fields = {"tool_name": 'B"ash', "tool_content": f"HTTP 429 after {n} ms", "is_error": True}
            memory.add("tool", {**fields, "tool_call_id": str(n)}, namespace=space)
        old = memory.record_tool_call(
            'B"ash', "HTTP 429 after 7 ms", is_error=True, created_at=NOW - 31 * DAY
        )
        for subject, said in (
            ("Acme", "Tea"),
            ("ACME", "tea"),
            ("acme", " t\u00c9a "),
            ("acme", "te\u0301a"),
        ):
            memory.add("fact", {"subject": subject, "relation": "likes", "object": said}, namespace="team")
        memory.loop.run()
        queue = memory.loop.queue()
        assert len(queue) == 3
        for row in queue:
            body = memory.loop.show(row.address).recommendation
            told = Session(Host(memory.store, "shared", lambda: NOW)).run(str(body.evidence_query)).as_json()
            found = {grain["hash"].removeprefix("sha256:") for grain in told["grains"]}
            assert set(body.evidence) <= found
            assert old not in found
