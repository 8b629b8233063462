# SPDX-License-Identifier: Apache-2.0
"""Importers, one file a source."""
