# SPDX-License-Identifier: Apache-2.0
"""The vocabulary: words of the language, words refused, types, categories of relations, formats, options, limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


def words(text: str) -> frozenset[str]:
    """The blank-separated words of ``text``."""
    return frozenset(text.split())


# --- limits -----------------------------------------------------------------------------------------

MAX_BYTES: Final = 65_536
MAX_SCRIPT_BYTES: Final = 1_048_576
MAX_DEPTH: Final = 8
MAX_ROWS: Final = 1_000
DEFAULT_ROWS: Final = 50
MAX_IN: Final = 100
MAX_STAGES: Final = 5
MAX_OPERANDS: Final = 4
MAX_ENTRIES: Final = 10
MAX_BINDINGS: Final = 5
MAX_BOUND_VALUES: Final = 1_000
MAX_BRANCHES: Final = 5
MAX_SOURCES: Final = 8
MAX_NAME: Final = 64
MAX_INTENT: Final = 256
MAX_BUDGET: Final = 16_000
DEFAULT_BUDGET: Final = 4_000
MAX_ASSEMBLED: Final = 2_000
MAX_ASSEMBLE_MS: Final = 10_000
MAX_FORMATS: Final = 5
MAX_VARS: Final = 10
MAX_VAR_BYTES: Final = 1_024
MAX_QUERY_BYTES: Final = 8_192
MAX_PARAMETERS: Final = 10
MAX_QUERIES: Final = 100
MAX_VERSIONS: Final = 100

# --- types ------------------------------------------------------------------------------------------

PLURALS: Final[Mapping[str, str]] = {
    "facts": "fact",
    "events": "event",
    "states": "state",
    "workflows": "workflow",
    "tools": "tool",
    "observations": "observation",
    "goals": "goal",
    "reasonings": "reasoning",
    "consensuses": "consensus",
    "consents": "consent",
    "skills": "skill",
    "recommendations": "recommendation",
}
PLURAL_OF: Final[Mapping[str, str]] = {singular: plural for plural, singular in PLURALS.items()}
EVERY_TYPE: Final = frozenset(("grains", "all"))
OLD_TYPES: Final[Mapping[str, str]] = {
    "belief": "facts",
    "beliefs": "facts",
    "episode": "events",
    "episodes": "events",
    "checkpoint": "states",
    "checkpoints": "states",
    "action": "tools",
    "actions": "tools",
}

# --- relations --------------------------------------------------------------------------------------

_CATEGORIES: Final = {
    "PREFERENCE": "requires prefers avoids dislikes",
    "KNOWLEDGE": "knows infers learned owned_by",
    "PERMISSION": "permits revokes prohibits",
    "INTERACTION": "said did handed_off_to",
    "AGENCY": "delegates_to has_capability assigned_to capable_of",
    "LIFECYCLE": "intends depends_on",
    "OBSERVATION": "perceives state_at",
    "CONSENSUS": "agrees_with",
    "WORKFLOW": "requires_steps",
    "GOVERNANCE": "",
}
CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(f"{prefix}{relation}" for relation in relations.split() for prefix in ("", "mg:"))
    for name, relations in _CATEGORIES.items()
}
"""Category → its relations, each also with the prefix ``mg:``. GOVERNANCE has none, so it matches nothing."""

MG_RELATIONS: Final = frozenset(
    name for names in CATEGORIES.values() for name in names if name.startswith("mg:")
)

# --- formats and options ----------------------------------------------------------------------------

FORMATS: Final[Mapping[str, str]] = {
    "json": "json",
    "data": "json",
    "sml": "sml",
    "structured": "sml",
    "markdown": "markdown",
    "readable": "markdown",
    "text": "text",
    "compact": "text",
    "toon": "toon",
    "triples": "triples",
    "yaml": "yaml",
    "csv": "csv",
    "table": "table",
}
"""Name in a statement → renderer."""

# option → how many arguments it takes: least, most
OPTIONS: Final[Mapping[str, tuple[int, int]]] = {
    "superseded": (0, 0),
    "arrival": (0, 0),
    "explanation": (0, 0),
    "annotate_relative_time": (0, 0),
    "conflict_resolution": (0, 0),
    "dedup": (0, 1),
    "contradiction_detection": (0, 0),
    "provenance": (0, 0),
    "include_sources": (0, 0),
    "exhaustive": (1, 1),
    "multi_hop": (1, 1),
    "score_breakdown": (0, 0),
    "rerank": (0, 1),
    "diversity": (0, 1),
    "query_expansion": (0, 1),
    "query_decompose": (0, 0),
    "recency_weight": (1, 1),
    "min_score": (1, 1),
    "session_affinity": (1, 1),
    "subject_affinity": (1, 1),
    "session_coverage": (1, 1),
    "session_census": (1, 2),
    "max_namespaces": (1, 1),
    "aggregation_intent": (0, 0),
    "preference_enrichment": (0, 0),
    "hyde": (0, 1),
    "llm_rerank": (0, 1),
}
WITH_EFFECT: Final = frozenset(
    (
        "superseded",
        "arrival",
        "explanation",
        "annotate_relative_time",
        "conflict_resolution",
        "dedup",
        "contradiction_detection",
        "provenance",
        "include_sources",
    )
)
NEEDS_A_MODEL: Final = frozenset(("hyde", "llm_rerank"))
UNKNOWN_OPTIONS: Final = frozenset(("progressive_disclosure", "consistency", "locale", "cache"))

# --- words ------------------------------------------------------------------------------------------

REFUSED: Final = words(
    """DELETE ERASE DESTROY TRUNCATE INSERT CREATE WRITE STORE KEY ENCRYPT DECRYPT ROTATE MASTER DEK SECRET POLICY SEAL
    UNSEAL TOKEN CONSENT RESTRICT SCHEMA PARTITION INDEX MIGRATION"""
)
"""Never a statement, a field or a name: bulk destruction and administration stay out of the language."""

SECTIONS: Final = ("HEADER", "ELEMENT", "ELEMENT_SUMMARY", "ELEMENT_OMIT", "SOURCE_BREAK", "FOOTER")
STAGES: Final = words("SELECT PROJECT ORDER SORT LIMIT OFFSET COUNT FIRST SUBJECTS OBJECTS HASHES GROUP")
TAILS: Final = frozenset(("WITH", "FORMAT", "AS", "WHERE"))
EXTRACTS: Final = frozenset(("SUBJECTS", "OBJECTS", "HASHES"))
GOVERNING: Final = frozenset(("REVIEW", "APPROVE", "REJECT", "WITHDRAW", "APPLY", "ROLLBACK"))
NOT_OFFERED: Final = frozenset(
    ("PURGE", "ACCUMULATE", "REVERT", "GRANT", "REVOKE", "RELATED", "NOVELTY", "STREAM")
)
"""Statements of the published language that this version names in its refusal instead of running."""

_STATEMENTS: Final = """RECALL ASSEMBLE EXISTS HISTORY EXPLAIN DESCRIBE COALESCE RUN ENTITY SHOW DERIVED REPORT ADD SUPERSEDE FORGET
    MERGE REMEMBER DEFINE DROP REVIEW APPROVE REJECT WITHDRAW APPLY ROLLBACK BATCH LET"""
STATEMENTS: Final = tuple(_STATEMENTS.split())
KEYWORDS: Final = (
    frozenset(STATEMENTS)
    | NOT_OFFERED
    | STAGES
    | TAILS
    | frozenset(SECTIONS)
    | frozenset(CATEGORIES)
    | frozenset(name.upper() for name in (*FORMATS, *OPTIONS, *PLURALS, *PLURALS.values()))
    | words(
        """MY ABOUT LIKE SINCE UNTIL BETWEEN AND OR NOT RECENT CONTRADICTIONS OF THREAD IN IS NULL CONTAINS STARTS
        INCLUDE EXCLUDE BY ASC DESC UNION INTERSECT EXCEPT FOR FROM BUDGET TOKENS GRAINS PRIORITY ALL DIFF ON ELSE SET
        REASON BECAUSE SUBJECT QUERY TEMPLATE DESCRIPTION EXTENDS RELATION TO CONFIDENCE AT AXIS WORLD KNOWLEDGE FORKS
        VARS TRUE FALSE DRY CHOICE LOOP FULL PRESET TRACE FIELDS CAPABILITIES SERVER TEMPLATES GRAMMAR QUERIES STATS
        INTEGRITY PRINCIPAL ANALYZERS OUTCOMES CAL"""
    )
)
"""Every word with a meaning of its own. One may still name a field where only a field can stand."""
