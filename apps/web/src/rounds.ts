// The rounds of a run, told from its events: which stage, which time, how long, and how much of it was waiting. Pure.
import type { RunEvent } from "./http";

export type Round = { stage: string; visit: number; from: number; to: number | undefined; waited: number; ended: string };

const placed = new Set(["APPROVAL_REQUESTED", "CLARIFICATION_REQUESTED", "HOLD_PLACED"]);
const decided = new Set(["APPROVAL_GRANTED", "APPROVAL_REJECTED", "CLARIFICATION_ANSWERED", "DECISION_MADE", "DEADLINE_PASSED", "ASSUMPTION_MADE"]);
const over: Record<string, string> = { RUN_COMPLETED: "done", RUN_FAILED: "failed", RUN_CANCELLED: "cancelled" };

export function rounds(events: RunEvent[], now: number): Round[] {
  const told: Round[] = [];
  let open: Round | undefined;
  let since: number | undefined;
  const close = (at: number, how: string) => {
    if (!open) return;
    if (since !== undefined) open.waited += at - since;
    open.to = at;
    open.ended = how;
    open = undefined;
    since = undefined;
  };
  for (const event of events) {
    const at = Date.parse(event.timestamp);
    const payload = event.payload as { stage?: string; visit?: number };
    if (event.type === "STAGE_STARTED") {
      close(at, "sent back");
      open = { stage: payload.stage ?? "", visit: payload.visit ?? 1, from: at, to: undefined, waited: 0, ended: "" };
      told.push(open);
    } else if (event.type === "STAGE_COMPLETED" && open?.stage === payload.stage) close(at, "done");
    else if (over[event.type]) close(at, over[event.type] ?? "");
    else if (placed.has(event.type)) since ??= at;
    else if (decided.has(event.type) && since !== undefined) {
      if (open) open.waited += at - since;
      since = undefined;
    }
  }
  if (open && since !== undefined) open.waited += now - since;
  return told;
}
