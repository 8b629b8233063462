# SPDX-License-Identifier: Apache-2.0
"""Who holds the lease of a run, and whether that process is still there (D34).

A run that was killed cannot give its lease back. Where process numbers certainly mean the same, on this boot of this
machine and in this process namespace, a number that nobody has any more frees the lease at once; elsewhere it runs out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

_TELLING: Final = ("/proc/sys/kernel/random/boot_id", "/etc/machine-id")
_NAMESPACE: Final = "/proc/self/ns/pid"


def lease(owner: str, until: int) -> dict[str, Any]:
    """A lease of this process that ends at ``until`` (epoch ms)."""
    return {"owner": owner, "until": until, "pid": os.getpid(), "place": place()}


def is_orphaned(held: Mapping[str, Any]) -> bool:
    """Whether the process that took a lease is certainly gone."""
    number = held.get("pid")
    if os.name != "posix" or held.get("place") != place() or type(number) is not int or number < 1:
        return False
    try:
        os.kill(number, 0)  # asks, sends nothing
    except ProcessLookupError:
        return True
    except OSError:  # it is there and belongs to somebody else
        return False
    return False


def place() -> str:
    """Where process numbers mean the same: a digest, so that a file does not name the machine it was on."""
    told = [os.uname().nodename if hasattr(os, "uname") else ""]
    for path in _TELLING:
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                told.append(file.read(64))
        except OSError:
            told.append("")
    try:
        told.append(os.readlink(_NAMESPACE))
    except OSError:
        told.append("")
    return sha256("\0".join(told).encode()).hexdigest()[:16]
