# SPDX-License-Identifier: Apache-2.0
"""The analyzers, one file each, and the explicit list of them."""
