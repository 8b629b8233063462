# SPDX-License-Identifier: Apache-2.0
"""Facts that were doubtful from the beginning. Asks for its evidence with a query instead of being sent everything.

deja loop run --dry-run --only example.doubtful --analyzer-cmd 'example.doubtful=python3 doubtful.py'
"""

from deja_analyzer import finding, serve

DAY_MS = 86_400_000


def analyze(request):
    for grain in request["rows"]["doubtful"]:
        days = (request["now_ms"] - grain["created_at_ms"]) // DAY_MS
        if days >= 30:
            fields = grain["fields"]
            told = f"{fields.get('subject')} · {fields.get('relation')} is doubtful since {days} days"
            yield finding(f"grain:{grain['hash']}", told, grain, severity="info")


serve(
    analyze,
    title="Doubtful facts",
    description="facts of little confidence that nobody confirmed",
    evidence=[{"name": "doubtful", "query": "RECALL facts WHERE confidence < 0.5 LIMIT 500"}],
)
