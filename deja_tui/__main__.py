# SPDX-License-Identifier: Apache-2.0
"""``python -m deja_tui`` is ``deja``."""

from deja_tui.cli.main import main

if __name__ == "__main__":
    main()
