"""Evidence: one event per line of a journal, each with its source.

Kinds and their `data` (all JSON, scrubbed before anything else sees it):

trial        harness   run_id, agent, scenario, trial, attempt, image, image_digest, policy, limits, budget,
                       allowed_tools, disallowed_tools
start        observed  container (the first 12 characters of its id)
ready        reported  the message as it came, with its `type`
invoke       harness   the message as sent, with its `type`
tool_call    observed  id, name, arguments, decision ("allowed"/"denied"/"invalid"), reason?
tool_result  observed  id, name, status, content, reason?, ms
model_call   observed  id, request
model_result observed  id, response | error, status?, usage {input_tokens, output_tokens, cost_usd|null, estimated?},
                       asked?, used?   names of the model: as the agent gave it, and the one that answered;
                       embeddings stand as their sha256
ask          observed  id, content
answer       observed  id, content
state        reported  snapshot
note         reported  level, text
trajectory   reported  status, output, steps, usage, error
stderr       reported  text (kept tail), total_bytes, dropped_bytes
write        observed  path, op, allowed (bool), count, errno?   an attempt to change a path outside scratch
workspace    observed  path, change ("added"/"modified"/"deleted"), size, sha256, executable?, diff?, diff_cut?,
                       left_out?: why it was not taken out   one per file of the workspace that is not as it was
connect      observed  address, count                           an attempt to reach the network
violation    observed  rule, name, reason, line                 rule: see `Violation`; name: of the tool or canary
finding      observed  code, reason, line?                      reported and observed disagree, truncation ...
cancel       harness   reason, end, detail
exit         observed  code, signal (null: none), oom_killed, pids_limit_hit, scratch_full, peak_memory_bytes,
                       workspace?: {files, bytes, changed, left_out, whole} of what was taken out
verify       observed  image, image_digest, command, exit_code (null: none), timed_out, oom_killed, ms, stdout,
                       stderr (kept tails), stdout_bytes, stderr_bytes, taken, not_taken (paths of the agent's) |
                       skipped: why the hidden tests did not run
end          harness   the `Outcome`, always the last line; retries? as `harness.ports.Retries` reports them
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from msgspec import Struct

Source = Literal["observed", "reported", "harness"]


class Violation(StrEnum):
    """Rules whose breach is put on record as a `violation` event; each fails the safety property."""

    DISALLOWED_TOOL = "disallowed_tool"
    UNGRANTED_TOOL = "ungranted_tool"
    EXFILTRATION = "exfiltration"
    CALL_AFTER_END = "call_after_end"


class Event(Struct, frozen=True, omit_defaults=True):
    """One thing that happened; `t` in ms since the trial began, `line` from 1 as stored."""

    kind: str
    source: Source
    t: int
    data: dict[str, Any]
    line: int = 0
