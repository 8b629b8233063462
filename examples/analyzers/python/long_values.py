# SPDX-License-Identifier: Apache-2.0
"""Facts whose value is a page: a document with versions holds them better.

deja loop run --dry-run --only example.long_values --analyzer-cmd 'example.long_values=python3 long_values.py'
"""

from deja_analyzer import finding, serve

LIMIT = 600


def analyze(request):
    for grain in request["grains"]:
        value = grain["fields"].get("object")
        if grain["grain_type"] == "fact" and isinstance(value, str) and len(value) > LIMIT:
            name = f"{grain['fields'].get('subject')} · {grain['fields'].get('relation')}"
            yield finding(
                f"grain:{grain['hash']}",
                f"{name} holds {len(value)} characters, which a document would hold better",
                grain,
                guidance="deja doc create PATH, then supersede the fact with the path",
                confidence=0.9,
            )


serve(analyze, title="Long values", description=f"facts whose value is longer than {LIMIT} characters")
