# SPDX-License-Identifier: Apache-2.0
"""The queries every memory has, as definitions in the language itself; each with one line of help.

Names and parameters are a contract with other programs. ``DESCRIBE QUERIES`` lists them, ``RUN "name" ($x = …)`` runs
one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_CONTEXTS: Final = r"""
DEFINE QUERY "Customer Support Context" ($user_id, $topic)
DESCRIPTION "What one customer prefers, said and hit before a support answer"
AS { ASSEMBLE "customer support" FROM
  preferences: (RECALL facts ABOUT $topic WHERE subject = $user_id AND relation IS PREFERENCE RECENT 10),
  events: (RECALL events ABOUT $topic WHERE subject = $user_id RECENT 20),
  facts: (RECALL facts ABOUT $topic WHERE subject = $user_id RECENT 15),
  tools: (RECALL tools ABOUT $topic WHERE user_id = $user_id RECENT 10)
BUDGET 4000 tokens FORMAT markdown }

DEFINE QUERY "Conversation Resume" ($user_id, $session_id)
DESCRIPTION "Where a session stood when it ended"
AS { ASSEMBLE "conversation resume" FROM
  preferences: (RECALL facts WHERE subject = $user_id AND session_id = $session_id AND relation IS PREFERENCE RECENT 10),
  events: (RECALL events WHERE subject = $user_id AND session_id = $session_id RECENT 30),
  facts: (RECALL facts WHERE subject = $user_id AND session_id = $session_id RECENT 15),
  tools: (RECALL tools WHERE user_id = $user_id AND session_id = $session_id RECENT 10)
BUDGET 4000 tokens FORMAT markdown }

DEFINE QUERY "User Profile Briefing" ($user_id)
DESCRIPTION "What is on record about one person"
AS { ASSEMBLE "user profile" FROM
  preferences: (RECALL facts WHERE subject = $user_id AND relation IS PREFERENCE RECENT 20),
  consents: (RECALL consents WHERE subject = $user_id RECENT 10),
  goals: (RECALL goals WHERE subject = $user_id AND goal_state = "active" RECENT 10),
  observations: (RECALL observations WHERE subject = $user_id RECENT 15)
BUDGET 3000 tokens FORMAT markdown }

DEFINE QUERY "Knowledge Researcher" ($topic)
DESCRIPTION "Everything that speaks about a topic"
AS { ASSEMBLE "knowledge" FROM
  facts: (RECALL facts ABOUT $topic WHERE confidence >= 0.6 RECENT 25),
  reasonings: (RECALL reasonings ABOUT $topic RECENT 10),
  observations: (RECALL observations ABOUT $topic RECENT 10),
  events: (RECALL events ABOUT $topic RECENT 10)
BUDGET 5000 tokens FORMAT markdown }

DEFINE QUERY "Task Executor" ($user_id)
DESCRIPTION "Goals, plans and tool calls of one user, failures among them"
AS { ASSEMBLE "task" FROM
  goals: (RECALL goals WHERE subject = $user_id AND goal_state = "active" RECENT 10),
  workflows: (RECALL workflows WHERE subject = $user_id RECENT 5),
  tools: (RECALL tools WHERE user_id = $user_id RECENT 20),
  failures: (RECALL tools WHERE user_id = $user_id AND is_error = true RECENT 10),
  states: (RECALL states WHERE subject = $user_id RECENT 5),
  facts: (RECALL facts WHERE subject = $user_id AND confidence >= 0.5 RECENT 10)
BUDGET 5000 tokens FORMAT markdown }

DEFINE QUERY "Meeting Debrief" ($user_id, $session_id)
DESCRIPTION "What was said and agreed in one session"
AS { ASSEMBLE "meeting debrief" FROM
  events: (RECALL events WHERE subject = $user_id AND session_id = $session_id RECENT 50),
  consensuses: (RECALL consensuses RECENT 10),
  tools: (RECALL tools RECENT 15),
  goals: (RECALL goals RECENT 10)
BUDGET 5000 tokens FORMAT markdown }

DEFINE QUERY "Recommendation Context" ($user_id, $topic)
DESCRIPTION "What bears on advising one person about a topic"
AS { ASSEMBLE "recommendation" FROM
  preferences: (RECALL facts ABOUT $topic WHERE subject = $user_id AND relation IS PREFERENCE RECENT 20),
  events: (RECALL events ABOUT $topic WHERE subject = $user_id RECENT 20),
  observations: (RECALL observations ABOUT $topic WHERE subject = $user_id RECENT 15),
  facts: (RECALL facts ABOUT $topic WHERE subject = $user_id AND confidence >= 0.6 RECENT 15)
BUDGET 4000 tokens FORMAT markdown }

DEFINE QUERY "Compliance Audit" ($user_id)
DESCRIPTION "Consents, permissions and what was recorded about one person"
AS { ASSEMBLE "compliance audit" FROM
  consents: (RECALL consents WHERE subject = $user_id RECENT 20),
  events: (RECALL events WHERE subject = $user_id RECENT 20),
  observations: (RECALL observations WHERE subject = $user_id RECENT 15),
  permissions: (RECALL facts WHERE subject = $user_id AND relation IS PERMISSION RECENT 10)
BUDGET 4000 tokens FORMAT markdown }

DEFINE QUERY "Creative Collaborator" ($topic)
DESCRIPTION "Material and open goals around a topic"
AS { ASSEMBLE "creative" FROM
  facts: (RECALL facts ABOUT $topic RECENT 25),
  events: (RECALL events ABOUT $topic RECENT 20),
  states: (RECALL states ABOUT $topic RECENT 5),
  goals: (RECALL goals ABOUT $topic WHERE goal_state = "active" RECENT 10),
  reasonings: (RECALL reasonings ABOUT $topic RECENT 10)
BUDGET 5000 tokens FORMAT markdown }

DEFINE QUERY "Scoped Namespace Context" ($namespace)
DESCRIPTION "The newest of one namespace"
AS { ASSEMBLE "namespace" FROM
  facts: (RECALL facts WHERE namespace = $namespace RECENT 20),
  events: (RECALL events WHERE namespace = $namespace RECENT 15),
  tools: (RECALL tools WHERE namespace = $namespace RECENT 10),
  states: (RECALL states WHERE namespace = $namespace RECENT 5)
BUDGET 4000 tokens FORMAT markdown }

DEFINE QUERY "Account 360 Context" ($account_id, $query)
DESCRIPTION "State and history of one account around a question"
AS { ASSEMBLE "account" FROM
  account: (RECALL states WHERE subject = $account_id RECENT 1),
  related: (RECALL states ABOUT $query WHERE subject = $account_id AND tags INCLUDE ["account"] RECENT 10),
  events: (RECALL events WHERE subject = $account_id RECENT 20),
  threads: (RECALL states ABOUT $query WHERE subject = $account_id AND tags INCLUDE ["thread"] RECENT 10)
BUDGET 5000 tokens FORMAT markdown }

DEFINE QUERY "Meeting Context" ($meeting_id, $query)
DESCRIPTION "What is known for one meeting"
AS { ASSEMBLE "meeting" FROM
  meeting: (RECALL events WHERE subject = $meeting_id RECENT 1),
  states: (RECALL states WHERE subject = $meeting_id RECENT 20),
  goals: (RECALL goals WHERE subject = $meeting_id AND goal_state = "active" RECENT 20),
  observations: (RECALL observations ABOUT $query WHERE subject = $meeting_id RECENT 15)
BUDGET 5000 tokens FORMAT markdown }

DEFINE QUERY "Meeting Cross Query" ($user, $query)
DESCRIPTION "A question over all meetings of one person"
AS { ASSEMBLE "meetings" FROM
  states: (RECALL states ABOUT $query WHERE user_id = $user RECENT 25),
  goals: (RECALL goals ABOUT $query WHERE user_id = $user AND goal_state = "active" RECENT 15),
  events: (RECALL events ABOUT $query WHERE user_id = $user RECENT 10)
BUDGET 4000 tokens FORMAT markdown }

DEFINE QUERY "Support CoPilot Context" ($query)
DESCRIPTION "Documented facts, solved cases and procedures for a question"
AS { ASSEMBLE "support copilot" FROM
  documents: (RECALL facts ABOUT $query WHERE relation = "documents" RECENT 15),
  resolved: (RECALL events ABOUT $query WHERE tags INCLUDE ["resolved"] RECENT 10),
  workflows: (RECALL workflows ABOUT $query RECENT 5)
BUDGET 5000 tokens FORMAT markdown }

DEFINE QUERY "Sales Playbook Context" ($competitor, $industry, $query)
DESCRIPTION "Positions against a competitor in an industry"
AS { ASSEMBLE "sales playbook" FROM
  competitor: (RECALL states ABOUT $competitor RECENT 3),
  counters: (RECALL facts ABOUT $query WHERE relation = "countered-by" RECENT 15),
  proofs: (RECALL facts ABOUT $industry WHERE relation = "demonstrated" RECENT 10),
  pricing: (RECALL states ABOUT $query WHERE tags INCLUDE ["pricing"] RECENT 5)
BUDGET 5000 tokens FORMAT markdown }

DEFINE QUERY "Policy Library Context" ($user, $query)
DESCRIPTION "Policies in force for a question, and what one person agreed to"
AS { ASSEMBLE "policies" FROM
  policies: (RECALL states ABOUT $query WHERE tags INCLUDE ["active"] RECENT 10),
  consents: (RECALL consents WHERE subject = $user RECENT 10)
BUDGET 4000 tokens FORMAT markdown }

DEFINE QUERY "RFP Questionnaire Context" ($query)
DESCRIPTION "Answers given before, and controls in place"
AS { ASSEMBLE "questionnaire" FROM
  answers: (RECALL facts ABOUT $query WHERE relation = "answered-by" RECENT 15),
  controls: (RECALL states ABOUT $query WHERE tags INCLUDE ["control"] RECENT 10)
BUDGET 4000 tokens FORMAT markdown }

DEFINE QUERY "agent_context" ($user, $def_ns, $query, $session_id)
DESCRIPTION "What an agent is given before a turn: its definition, the session, facts that speak about the question"
AS { ASSEMBLE "agent context" FROM
  goals: (RECALL goals WHERE namespace = $def_ns RECENT 1),
  workflows: (RECALL workflows WHERE namespace = $def_ns RECENT 1),
  tools: (RECALL tools WHERE namespace = $def_ns LIMIT 20),
  session: (RECALL events WHERE session_id = $session_id RECENT 12),
  facts: (RECALL facts ABOUT $query RECENT 8)
BUDGET 4000 tokens FORMAT sml }
"""

_CONSOLE: Final = r"""
DEFINE QUERY "Recommendations"
DESCRIPTION "Recommendations of the Deja Loop, newest first, with their status"
AS { RECALL recommendations RECENT 50 }

DEFINE QUERY "Pending Recommendations"
DESCRIPTION "Recommendations that wait for a decision"
AS { RECALL recommendations WHERE rec_status = "pending" RECENT 50 }

DEFINE QUERY "Audit Trail"
DESCRIPTION "Decisions and transitions, newest first"
AS { RECALL observations WHERE namespace = "deja-loop" RECENT 50 }

DEFINE QUERY "Audit of" ($recommendation)
DESCRIPTION "Everything that was derived from one recommendation: its audit chain"
AS { DERIVED FROM $recommendation }

DEFINE QUERY "Failing Tools"
DESCRIPTION "Failed tool calls, newest first"
AS { RECALL tools WHERE is_error = true RECENT 50 }

DEFINE QUERY "Session" ($session_id)
DESCRIPTION "One session in order, events and tool calls"
AS { RECALL * THREAD $session_id LIMIT 500 }

DEFINE QUERY "Expired Facts" ($now)
DESCRIPTION "Live facts whose validity ended before $now (epoch milliseconds)"
AS { RECALL facts WHERE valid_to <= $now RECENT 100 }

DEFINE QUERY "Open Forks"
DESCRIPTION "Facts with several live heads after a sync"
AS { RECALL facts CONTRADICTIONS }
"""


def _definitions(text: str) -> Iterator[str]:
    for part in text.split("DEFINE QUERY ")[1:]:
        yield "DEFINE QUERY " + part.strip()


BUILTIN_TEXTS: Final = (*_definitions(_CONTEXTS), *_definitions(_CONSOLE))
