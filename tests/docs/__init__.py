# SPDX-License-Identifier: Apache-2.0
"""The documents are true."""
