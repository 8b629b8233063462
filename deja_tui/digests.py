# SPDX-License-Identifier: Apache-2.0
"""SHA-256 for what a hook loads.

`hashlib` loads OpenSSL, which costs a process a sixth of what it takes to import apsw, msgpack and xxhash (D47, measured). A hook
hashes some kilobytes, for which the interpreter's own is good enough; whatever else runs takes the one that is thrice as fast.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256
elif "deja_tui.cli.hook" in sys.modules and "hashlib" not in sys.modules:
    try:
        sha256 = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
    except ImportError:  # an interpreter that was built without it
        from hashlib import sha256
else:
    from hashlib import sha256

__all__ = ["sha256"]
