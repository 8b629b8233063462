# SPDX-License-Identifier: Apache-2.0
"""The base error, and every error code deja can raise.

Codes are append-only: a code is never reused for another meaning and never removed. A room raises
its own subclass with one of the codes below; the message says what happened, ``next_step`` says
what the reader can do now. Surfaces print both (``STO-E003 …``) and map the error to exit status 1.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final


CODES: Final[dict[str, str]] = {
    # values a caller gave
    "VAL-E001": "a field is missing, of the wrong kind or outside its limits",
    "VAL-E002": "a time is neither ISO-8601 nor an epoch number",
    "VAL-E003": "an actor label is malformed or uses a reserved prefix",
    "VAL-E004": "the namespace or grain type is reserved for the engine",
    "VAL-E005": "a reason is missing, blank or longer than 500 characters",
    "VAL-E006": "this version does not offer the argument or method",
    # grain bytes
    "FMT-E001": "the blob is not a grain this version can read",
    "FMT-E002": "the payload is not canonical MessagePack",
    "FMT-E003": "the bytes do not have the address they were given",
    "FMT-E004": "the bundle or segment is damaged",
    # what a memory holds
    "MEM-E001": "no such grain",
    "MEM-E002": "the grain was already superseded",
    "MEM-E003": "the grain was forgotten here and is not taken back",
    "MEM-E004": "the short address matches several grains",
    # the file
    "STO-E001": "SQLite refused the operation",
    "STO-E002": "the file is not a deja memory",
    "STO-E003": "no such file",
    "STO-E004": "the file is locked by another writer",
    "STO-E005": "the memory was opened for reading only",
    "STO-E006": "the file was written by another version of the schema",
    "STO-E007": "the disk is full",
    "STO-E008": "the folder does not exist or cannot be written",
    "STO-E009": "the file is damaged",
    "STO-E010": "the memory is closed",
    "STO-E011": "a file that may not be written over lies there",
    # the loop
    "LOP-E001": "a call to the substrate failed",
    "LOP-E002": "the operation cannot be executed",
    "LOP-E010": "the target reference is malformed",
    "LOP-E011": "the proposal or the reason is not acceptable",
    "LOP-E012": "the recommendation grain is malformed",
    "LOP-E020": "the transition is not allowed from this status",
    "LOP-E021": "nobody approves what they created",
    "LOP-E022": "the caller lacks the right",
    "LOP-E023": "a destructive change needs an earlier approval, the admin right and the flag",
    "LOP-E024": "the memory changed since the finding: the proposal no longer fits",
    "LOP-E025": "the recommendation came from another copy of this memory",
    "LOP-E026": "the audit chain does not verify",
    "LOP-E027": "the change lies outside this memory, or does not",
    "LOP-E028": "the same draft is open, or was turned down lately",
    "LOP-E030": "an analyzer failed",
    "LOP-E031": "an analyzer parameter is unknown or out of bounds",
    "LOP-E032": "the substrate lacks a capability",
    "LOP-E033": "no such analyzer",
    "LOP-E034": "a gate value is malformed",
    "LOP-E035": "another run holds the lock",
    "LOP-E036": "an analyzer cannot be registered under this name or command",
    "LOP-E037": "a policy or a configuration document is malformed",
    "LOP-E040": "no such recommendation",
    "LOP-E051": "an analyzer command failed, took too long or gave an answer that cannot be read",
    "LOP-E099": "internal error of the engine",
    # capture and import
    "IMP-E001": "the source does not exist or cannot be read",
    "IMP-E002": "the source is not of the named kind",
    "IMP-E003": "which importer to take is not known",
    "IMP-E004": "the document is too long to be read whole",
    # surfaces
    "CLI-E001": "the command needs a terminal",
    "CLI-E002": "the clock override is not a number of milliseconds",
    "CLI-E003": "the file already holds grains",
    "CLI-E004": "the command needs an optional package",
    "CON-E001": "the theme file is malformed",
    "CON-E002": "the key map file is malformed or puts two actions on one key",
    "CON-E003": "the configuration file is malformed",
    "CON-E004": "the pager cannot be started",
    "CON-E005": "the console met a fault of its own",
    # the query language
    "CAL-E001": "the text is longer than 65,536 bytes",
    "CAL-E002": "unexpected word or sign",
    "CAL-E003": "no such grain type in this place",
    "CAL-E005": "a string is not closed",
    "CAL-E006": "not a number that can stand here",
    "CAL-E007": "nested deeper than 8",
    "CAL-E008": "a parameter has no value",
    "CAL-E009": "a parameter or binding is named twice",
    "CAL-E010": "LIMIT, RECENT or OFFSET is out of range",
    "CAL-E011": "IN lists more than 100 values",
    "CAL-E012": "more than 5 stages, or more than 10 entries in a batch",
    "CAL-E013": "more than 4 operands of UNION, INTERSECT, EXCEPT",
    "CAL-E014": "there is no statement",
    "CAL-E015": "an address is not 64 hex digits",
    "CAL-E016": "a reason is longer than 500 characters",
    "CAL-E017": "the field may not be written by a statement",
    "CAL-E018": "the reason is missing or blank",
    "CAL-E019": "SET is missing",
    "CAL-E020": "the value does not fit the field",
    "CAL-E021": "a stage does not fit what it is given",
    "CAL-E030": "the statement needs more work than allowed",
    "CAL-E032": "ASSEMBLE has more than 8 sources",
    "CAL-E033": "BUDGET is not within 1 and 16,000",
    "CAL-E034": "a label is used twice",
    "CAL-E035": "PRIORITY names no source",
    "CAL-E036": "more than 5 LET bindings, or more than 1,000 values in one",
    "CAL-E039": "COALESCE has more than 5 branches",
    "CAL-E040": "the template is longer than 4,096 bytes",
    "CAL-E041": "each stands inside each",
    "CAL-E042": "the template names no known variable",
    "CAL-E043": "the template names no known filter",
    "CAL-E044": "statements of this class are switched off here",
    "CAL-E045": "no such template",
    "CAL-E046": "the template is built in and cannot be changed",
    "CAL-E047": "the template extends one that does not exist",
    "CAL-E048": "a template extends one that extends another",
    "CAL-E049": "the template is malformed",
    "CAL-E050": "the rendered text is longer than 1 MiB",
    "CAL-E051": "no such saved query",
    "CAL-E052": "the saved query is built in and cannot be changed",
    "CAL-E053": "the memory holds 100 saved queries",
    "CAL-E054": "the saved query is longer than 8,192 bytes",
    "CAL-E055": "a saved query has at most 10 parameters",
    "CAL-E056": "a parameter of the saved query is missing",
    "CAL-E057": "a saved query cannot run another",
    "CAL-E058": "a saved query can only read",
    "CAL-E059": "the body of the saved query is no statement",
    "CAL-E060": "the field does not belong to the type, or two clauses exclude each other",
    "CAL-E070": "the text holds a character that reverses reading direction",
    "CAL-E071": "the context took too long",
    "CAL-E072": "the statement was stopped",
    "CAL-E091": "no such grain to show",
    "CAL-E092": "the statement would read without bound",
    "CAL-E100": "the text asks for another version of the language",
    "CAL-E110": "more than 5 formats",
    "CAL-E111": "more than 10 template variables",
    "CAL-E112": "a template variable is longer than 1,024 bytes",
    "CAL-E113": "two formats have one name",
    "CAL-E114": "the caller lacks the right",
    "CAL-E115": "not a name for a saved query or template",
    "CAL-E116": "the option needs a language model",
    "CAL-E117": "template blocks are nested deeper than 5",
    "CAL-E118": "the memory holds 50 templates",
    "CAL-E119": "this template cannot be extended",
    "CAL-E130": "this version, or this host, does not offer the statement",
}


class DejaError(Exception):
    """An expected failure with a stable code.

    Args:
        code: a key of `CODES`.
        message: one sentence for a person; never contains raw grain text.
        next_step: what to do now, as a sentence or a command; empty when there is nothing to do.
    """

    def __init__(self, code: str, message: str, next_step: str = "") -> None:
        if code not in CODES:
            raise ValueError(f"unregistered error code {code}")
        super().__init__(f"{code} {message}")
        self.code = code
        self.message = message
        self.next_step = next_step


class ValidationError(DejaError):
    """A value the caller gave was refused (``VAL-…``)."""


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """A question that names the one of ``words`` which is spelt most like ``word``, with a blank behind it; "": none is."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(words), n=1)
    return f"did you mean {near[0]}? " if near else ""
