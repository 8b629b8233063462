# SPDX-License-Identifier: Apache-2.0
"""The tables of the grain format: type bytes, wire names, what each type writes, the characters of Unicode 14.

Data only. Each ``long=short`` pair says that the field ``long`` is written under the map key ``short``; a name
that stands in no table is written as it is. The tables are one bijection: no short name stands twice and no
short name is another field's long name, so compacting twice changes nothing (`tests/store/test_codec.py`).
"""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

TYPES: Final[dict[str, int]] = {
    "fact": 0x01,
    "event": 0x02,
    "state": 0x03,
    "workflow": 0x04,
    "tool": 0x05,
    "observation": 0x06,
    "goal": 0x07,
    "reasoning": 0x08,
    "consensus": 0x09,
    "consent": 0x0A,
    "skill": 0x0B,
    "recommendation": 0x0C,
}
TYPE_OF: Final[dict[int, str]] = {byte: name for name, byte in TYPES.items()}


def is_reserved(namespace: str) -> bool:
    """Whether only the engine may write in ``namespace`` (D7)."""
    return namespace in ("deja-loop", "loop") or namespace.startswith("agent:")


# --- names on the wire ----------------------------------------------------------------------------------

_COMMON: Final = """
    type=t  subject=s  relation=r  object=o  confidence=c  source_type=st  created_at=ca  temporal_type=tt
    valid_from=vf  valid_to=vt  system_valid_from=svf  system_valid_to=svt  context=ctx  common_context=cctx
    superseded_by=sb  importance=im  author_did=adid  namespace=ns  user_id=user  structural_tags=tags
    derived_from=df  consolidation_level=cl  success_count=sc  failure_count=fc  provenance_chain=pc
    origin_did=odid  origin_namespace=ons  content_refs=cr  embedding_refs=er  related_to=rt  _elided=_e
    _disclosure_of=_do  invalidation_policy=ip  supersession_justification=sj  supersession_auth=sa
    verification_status=vstatus  owner=own  category=cat  run_id=rid  role=role  access_count=ac
    last_accessed_at=laa  timestamp_ms=tms  observer_did=obsdid  subject_did=sdid  session_id=sid2
    entity_id=eid  epistemic_status=epstat  requires_human_review=rhr  processing_basis=pbasis
    identity_state=idst  license=lic  trusted_timestamp=tts  invalidation_type=itype
    invalidation_reason=ireason  invalidation_initiator=iinit  retention_policy=rpol  recall_priority=rpri
    embedding_text=et  scope_path=scp  scope_depth=scd
"""
_DELEGATION: Final = """
    authorized_namespaces=ans  authorized_types=atypes  authorized_tools=atools  delegation_depth=ddepth
    delegation_expiry=dexp  context_grains=cgrains  return_to=retdid
"""
_EVENT: Final = """
    content_blocks=cblocks  model_id=mdl  stop_reason=stopr  token_usage=toku  parent_message_id=pmid
"""
_WORKFLOW: Final = """
    bindings=bind
"""
_TOOL: Final = """
    tool_name=tn  input=inp  tool_content=cnt  is_error=iserr  error=err  duration_ms=dur
    parent_task_id=ptid  tool_phase=aphase  tool_call_id=tcid  call_batch_id=cbid  tool_type=ttype
    tool_version=tver  execution_mode=emode  code=code  stdout=stdout  stderr=stderr  exit_code=xcode
    interpreter_id=iid  error_type=etype  tool_description=tdesc  input_schema=ischema  output_schema=osch
    strict=strict  async_mode=amode  kind=aknd  executor_uri=axu  locked_params=lprm  examples=exmp
    annotations=anno  spec_hash=shsh  executor_kind=exk  status=ast  correlation_id=acid  expires_at_sec=axp
    transient_definition_hash=tdh  failure_cause=afc  failure_detail=afd  actor_execution_environment=aex
"""
_OBSERVATION: Final = """
    observer_id=oid  observer_type=otype  frame_id=fid  sync_group=sg  observation_mode=omode
    observation_scope=oscope  observer_model=omdl  compression_ratio=ocmp
"""
_GOAL: Final = """
    description=desc  goal_state=gs  criteria=crit  criteria_structured=crs  priority=pri  parent_goals=pgs
    state_reason=sr  satisfaction_evidence=se  progress=prog  delegate_to=dto  delegate_from=dfo
    expiry_policy=ep  recurrence=rec  evidence_required=evreq  rollback_on_failure=rof
    allowed_transitions=atr  depends_on=depg  assigned_agent=asgn  expected_output=expout  output_grain=outg
    deadline=dline
"""
_REASONING: Final = """
    premises=prem  conclusion=conc  inference_method=imethod  alternatives_considered=altc
    thinking_content=think  thinking_redacted=tredact  statistical_context=statctx
    software_environment=swenv  parameter_set=params  random_seed=rseed
"""
_CONSENSUS: Final = """
    participating_observers=pobs  threshold=thr  agreement_count=agrc  dissent_count=disc
    dissent_grains=dgrains  agreed_content=acnt
"""
_CONSENT: Final = """
    grantee_did=gdid  scope=scope  is_withdrawal=isw  basis=basis  jurisdiction=jur  prior_consent=pcon
    witness_dids=wdids
"""
_SKILL: Final = """
    name=skname  instructions=instr  when_to_use=wtu  version=sver  allowed_tools=atls  resources=res
    dependencies=deps  input_modalities=imod  output_modalities=omod  domain=dom  holder_did=hdid
    proficiency=prof  practice_count=prcnt  last_practiced_at=lpa  strategies=strat  transferable=xfer
"""
_RECOMMENDATION: Final = """
    target_ref=tref  analyzer=anlz  summary=summ  dedup_key=ddk  proposal_cal=pcal  proposal_edit=pedit
    proposal_data=pdata  severity=sev  metric_snapshot=msnap  evidence_query=evq  rec_status=rstat
"""
_INTEGRATION: Final = """
    int:base_url=ib  int:http_method=ihm  int:http_path=ihp  int:path_params=ipp  int:query_params=iqp
    int:body_params=ibp  int:response_mapping=irm  int:auth_type=iat  int:auth_scopes=ias  int:read_only=iro
    int:connector=ic  int:docs_url=idu  int:rate_limit=irl  int:category=icat  int:sunset_date=isd
    int:content_type=ict  int:poll_interval_secs=ipis  int:cursor_field=icf  int:cursor_type=icft
    int:webhook_path=iwp  int:webhook_secret_header=iwsh  int:cron_expression=icron  int:timezone=itz
    int:config_schema=icfg  int:event_schema=ievt
"""


def _pairs(*blocks: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for block in blocks for pair in block.split())


def _flip(table: dict[str, str]) -> dict[str, str]:
    return {short: long for long, short in table.items()}


SHORT: Final[dict[str, str]] = _pairs(
    _COMMON,
    _DELEGATION,
    _EVENT,
    _WORKFLOW,
    _TOOL,
    _OBSERVATION,
    _GOAL,
    _REASONING,
    _CONSENSUS,
    _CONSENT,
    _SKILL,
    _RECOMMENDATION,
    _INTEGRATION,
)
"""Long name -> wire key."""

LONG: Final[dict[str, str]] = {short: long for long, short in SHORT.items() if short != long}
"""Wire key -> long name, for the keys that differ from it."""

# Tables for the maps inside one field. Context maps are compacted with all of `SHORT` but read back with this one
# only, and the references are compacted but never read back: that is how the reference product does it.
INT_SHORT: Final = _pairs(_INTEGRATION)
INT_LONG: Final = _flip(INT_SHORT)
EDGE_SHORT: Final = _pairs("max_cycles=mxc")
EDGE_LONG: Final = _flip(EDGE_SHORT)
RELATED_SHORT: Final = _pairs("hash=h relation_type=rl weight=w")
RELATED_LONG: Final = _flip(RELATED_SHORT)
CONTENT_REF_SHORT: Final = _pairs("uri=u modality=m mime_type=mt size_bytes=sz checksum=ck metadata=md")
EMBEDDING_REF_SHORT: Final = _pairs(
    "vector_id=vi model=mo dimensions=dm modality_source=ms distance_metric=di"
    " chunk_index=ci chunk_text=ct chunk_strategy=cs chunk_overlap=co"
)

# --- what each type writes ---------------------------------------------------------------------------

_COMMON_FIELDS: Final = """
    confidence user_id structural_tags source_type importance temporal_type valid_from valid_to
    system_valid_from system_valid_to derived_from consolidation_level origin_did origin_namespace author_did
    superseded_by verification_status embedding_text context invalidation_policy content_refs embedding_refs
    provenance_chain related_to
"""
_TYPE_FIELDS: Final = {
    "fact": "subject relation object",
    "event": """content subject object role session_id parent_message_id content_blocks model_id stop_reason
        token_usage run_id""",
    "state": "common_context plan history",
    "workflow": "nodes edges bindings retries trigger",
    "tool": """tool_name kind input tool_content is_error error duration_ms parent_task_id tool_call_id
        call_batch_id tool_description input_schema output_schema strict async_mode executor_uri locked_params
        examples annotations spec_hash executor_kind status correlation_id expires_at_sec
        transient_definition_hash failure_cause failure_detail actor_execution_environment""",
    "observation": """observer_id observer_type subject object observer_model observation_mode
        observation_scope""",
    "goal": """description goal_state subject object priority criteria criteria_structured parent_goals
        state_reason satisfaction_evidence progress delegate_to delegate_from expiry_policy recurrence
        evidence_required rollback_on_failure allowed_transitions""",
    "reasoning": """premises conclusion inference_method alternatives_considered thinking_content
        thinking_redacted""",
    "consensus": """participating_observers threshold agreement_count dissent_count dissent_grains
        agreed_content""",
    "consent": "subject_did grantee_did scope is_withdrawal basis jurisdiction prior_consent witness_dids",
    "skill": """name description instructions when_to_use version allowed_tools resources dependencies
        input_modalities output_modalities domain holder_did proficiency practice_count last_practiced_at
        strategies transferable""",
    "recommendation": """target_ref analyzer summary dedup_key proposal_cal proposal_edit proposal_data
        severity metric_snapshot evidence_query""",
}
TYPED: Final[dict[str, frozenset[str]]] = {
    name: frozenset(_COMMON_FIELDS.split()) | frozenset(own.split()) for name, own in _TYPE_FIELDS.items()
}
"""Type -> the long names it writes as typed fields, the common ones included."""

SAME: Final[dict[str, frozenset[str]]] = {
    name: frozenset(field for field in typed if SHORT.get(field, field) == field)
    for name, typed in TYPED.items()
}
"""Type -> its typed fields whose wire key is the name itself (``content`` of an event, ``nodes`` of a workflow)."""

FLOATS: Final = frozenset(("confidence", "importance", "progress", "threshold", "proficiency"))
"""Written as float64 whatever number was given; so is ``weight`` inside ``related_to``."""

NULLABLE: Final = frozenset(("input", "satisfaction_evidence", "expiry_policy", "recurrence"))
"""Typed fields that hold any JSON value, so an explicit null is a value and is written."""

_OMITTED_WHEN_EMPTY: Final = """
    structural_tags content_refs embedding_refs provenance_chain related_to plan history edges bindings retries
    premises alternatives_considered participating_observers dissent_grains witness_dids allowed_tools resources
    dependencies input_modalities output_modalities strategies
"""
OMITTED_WHEN_EMPTY: Final = frozenset(_OMITTED_WHEN_EMPTY.split())
OMITTED_DEFAULTS: Final = {"kind": "execution", "executor_kind": "host"}

# --- Unicode 14 --------------------------------------------------------------------------------------

_RUNS: Final = """
    oo 2 6 4 7 1 1 1 k 1 b1 1 12 2 1e 2 3 1 1j 8 r 4 6 b 7i 1 1o 2 2t e 1n 2 1d 2 f 1 s 2 1 1 b 5 v 1 2 6 6k
    1 8 2 2 2 m 1 7 1 1 3 4 2 9 2 2 2 4 8 1 4 2 1 5 2 p 2 3 1 6 4 2 2 m 1 7 1 2 1 2 1 2 2 1 1 5 4 2 2 3 3 1
    7 4 1 1 7 h a 3 1 9 1 3 1 m 1 7 1 2 1 5 2 a 1 3 1 3 2 1 f 4 2 c 7 7 1 3 1 8 2 2 2 m 1 7 1 2 1 5 2 9 2 2
    2 3 7 3 4 2 1 5 2 i a 2 1 6 3 3 1 4 3 2 1 1 1 2 3 2 3 3 3 c 4 5 3 3 1 4 2 1 6 1 e l 5 d 1 3 1 n 1 g 2 9
    1 3 1 4 7 2 1 3 2 1 2 4 2 a 7 m 1 3 1 n 1 a 1 5 2 9 1 3 1 4 7 2 6 2 1 4 2 a 1 2 d d 1 3 1 1f 1 3 1 6 4 g
    2 q 1 3 1 i 3 o 1 9 1 1 2 7 3 1 4 6 1 1 1 8 6 a 2 3 c 1m 4 t 11 2 1 1 1 5 1 o 1 1 1 n 2 5 1 1 1 6 2 a 2
    4 w 20 1 10 4 13 1 10 1 f 1 d 11 5i 1 1 5 1 2 ah 1 4 2 7 1 1 1 4 2 15 1 4 2 x 1 4 2 7 1 1 1 4 2 f 1 1l 1
    4 2 1v 2 w 3 q 6 2e 2 6 2 il 3 2h 7 m 9 o 9 k c d 1 3 1 2 c 2m 2 a 6 a 6 q 6 2h 7 17 5 1y a v 1 c 4 c 4
    1 3 16 2 5 b 18 4 q 6 b 3 1q 2 1t 1 t 2 b 6 a 6 e 2 v 1d 25 3 1b 1 38 8 1o 3 f 3 1o 7 17 2 b 8 17 5 eu 2
    6 2 12 2 6 2 8 1 1 1 1 1 1 1 v 2 1h 1 f 1 e 2 6 1 j 2 3 1 9 1 2t 1 c 2 r 1 d 3 x f x f 3w 4 if p b l 1ec
    2 w 1 9p 5 19 1 1 5 1 2 1k 7 2 e o 9 7 1 7 1 7 1 7 1 7 1 7 1 7 1 7 1 3i y q 1 2h c 5y q c 4 1s 1 2e 2 2v
    5 17 1 2m 1 2c c 1b 1 mlp 3 1j 9 9o k 54 8 5n 5 2 1 1 1 5 o 1n 3 a 6 1k 8 1y 8 c 6 38 b u 3 26 1 b 4 x 1
    1j 9 e 2 a 2 2v o s a 6 2 6 2 6 9 7 1 7 1 1o 4 3i 2 a 6 8mc c n 4 1d 4 6su 2 2y 12 7 c 5 5 q 1 5 1 1 1 2
    1 2 1 3h g cd 2 1i 7 1 w 16 6 1f 1 j 1 4 4 5 1 3r 2 1 1 5a 3 6 2 6 2 6 2 3 3 7 1 7 a 5 2 c 1 q 1 j 1 2 1
    f 2 e y 3f 5 3 4 19 3 2g 1 d 3 1 1b 1a 3m t 3 1d f s 4 10 9 u 5 17 5 u 1 11 4 e 16 4e 2 a 6 10 4 10 4 14
    8 1g b c 1 f 1 7 1 2 1 b 1 f 1 7 1 2 1v 8n 9 m a 8 o 6 1 16 1 9 1x 6 2 1 1 18 1 2 3 1 2 n 1 20 8 9 1c j
    1 2 5 x 3 r 5 1 1s 1k 4 k 2 1e 1 2 5 8 1 3 1 t 2 3 4 a 7 9 7 1s w 13 4 c 9 1i 3 t 2 r 5 q 7 4 c 7 28 21
    1j 1f d 1f 7 1a 8 a 86 v 1 16 1 3 2 2 26 14 8 16 m q 12 s k n 9 26 4 10 9 1w a 1 2 p 7 a 6 1h 1 i 8 13 9
    2o 1 k b i 1 18 1t 7 1 1 1 4 1 f 1 b 6 1n 5 a 6 4 1 8 2 2 2 m 1 7 1 2 1 5 1 a 2 2 2 3 2 1 6 1 5 7 2 7 3
    5 3v 2k 1 5 u 20 8 a 4m 1i 2 12 y 1x b a 6 d j 1m 6 a 1i r 2 f 4 n 55 1o 2s 2b c 8 2 1 2 8 1 2 1 u 1 2 2
    c 9 a 1y 8 2 1a 2 b r 20 8 2b d 21 7b 9 1 19 1 e a t 3 w 2 m 1 e 21 7 1 2 1 18 3 1 1 2 1 9 8 a 6 6 1 2 1
    11 1 2 1 6 7 a 8m p 53 1 f 1e d pn 2u 33 1 5 b 5g 218 2r d tr 1 9 347 g7 6nt ft 7 v 1 a 4 29 1 a 6 u 2 6
    a 1y a a 1 7 1 l 5 j j4 2j 2t 23 4 1l 7 h 1s 5 b 2 e 4qg 8 ye 16 9 6w7 4 1 7 1 2 1 83 19 3 h 4 8 b0 1s4
    2z 5 d 3 9 7 a 2 8 3mk 1a 2 n 9 38 1o 6u a 13 2 5e l 1y 4a k c 2f 9 p 3r 2d 1 1z 1 2 2 1 2 2 2 4 1 c 1 1
    1 7 1 1t 1 4 2 8 1 7 1 s 1 4 1 5 1 1 3 7 1 9g 2 84 2 ji f 5 1 f uo v 69 7 1 h 2 7 1 2 1 5 5x 19 3 e 2 a
    4 2 8w v h 1m 5 1 yo 7 1 4 1 2 1 f 1 5h 2 g 15 24 4 a 4 2 lt 1w 24 1p 5e 4 1 r 1 2 1 1 2 1 1 a 1 4 1 1 1
    1 6 1 4 1 1 1 1 1 1 3 1 2 1 1 2 1 1 1 1 1 1 1 1 1 1 2 1 1 2 4 1 7 1 4 1 4 1 1 1 a 1 h 5 3 1 5 1 h 1g 2
    7i 18 4 2s c f 2 f 1 f 1 11 a 4u 1k t d 18 4 9 7 2 e 6 4a rc 5 g 3 d 3 38 c 2h 7 c 4 1 f c 4 1k 8 a 6 14
    8 u 2 2 26 9g c e 2 5 3 5 3 7 9 t 3 b 5 6 a a 6 8 8 7 9 43 1 1j 11 a sm wyo w 37d 7 66 2 4g2 e 5rl 2e7
    f2 15u 3t7 fcfq 1 u 2o 3k 6o 1e6o 1eke 2 1eke 2
"""


@cache
def unicode_14() -> str:
    """The code points assigned in Unicode 14, as the inside of a regular-expression class.

    Normal forms of these never change in a later version, so a check that looks at nothing else says the same on
    every Python (D41). `_RUNS` holds the lengths, in base 36, of alternating runs: assigned, unassigned, assigned …
    """
    ranges, start = [], 0
    for number, length in enumerate(int(run, 36) for run in _RUNS.split()):
        if number % 2 == 0:
            ranges.append(f"\\U{start:08x}-\\U{start + length - 1:08x}")
        start += length
    return "".join(ranges)
