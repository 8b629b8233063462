# SPDX-License-Identifier: Apache-2.0
"""The command line, as the tests of the command line have it."""

from tests.cli.conftest import deja

__all__ = ["deja"]
