// What a run's branch changes, by file; comments on lines go to the agent as feedback.
import { useMutation } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { client, useMayDecide } from "../data";
import { api, freshKey, type Run } from "../http";
import { one, shortId } from "../words";
import { asFeedback, Comments, type Said } from "./Comments";
import { ChangeView } from "./ChangeView";
import { say } from "./Toasts";
import { Trouble } from "./bits";

/** How the agent can be told: a hold that sends work back, or a word while it works. */
function way(run: Run): "reject" | "retry" | "tell" | undefined {
  if (run.hold) return (["reject", "retry"] as const).find((word) => run.hold?.allowed.includes(word));
  return run.status === "running" ? "tell" : undefined;
}

export function Changes({ run }: { run: Run }) {
  const may = useMayDecide();
  const [said, setSaid] = useState<Said[]>([]);
  const how = may ? way(run) : undefined;
  const comments = useMemo(() => {
    const keep = (place: string, words: string) => setSaid((list) => [...list.filter((one) => one.place !== place), ...(words ? [{ place, text: words }] : [])]);
    return how ? { list: said, say: keep } : undefined;
  }, [said, how]);
  const send = useMutation({
    mutationFn: async () => {
      if (how === "tell") await api.tell(run.id, asFeedback(said));
      else if (how && run.hold) await api.decide(run.id, { decision: how, digest: run.hold.digest, hold: run.hold.id, text: asFeedback(said) }, freshKey());
    },
    onSuccess: () => {
      say(how === "tell" ? "The agent reads it before its next turn." : `\`${shortId(run.id)}\` sent back with your words`);
      setSaid([]);
    },
    onSettled: () => void client.invalidateQueries({ queryKey: ["run", run.id] }),
  });
  return (
    <section aria-label="Changes">
      {how && <p className="quiet">A line's number takes a comment for the agent.</p>}
      <Comments.Provider value={comments}><ChangeView run={run.id} of="branch" /></Comments.Provider>
      {said.length > 0 && how && (
        <div className="send-comments">
          <span>{one(said.length, "comment")} for the agent</span>
          <button type="button" className="weight-yes" disabled={send.isPending} onClick={() => send.mutate()}>{send.isPending ? "sending…" : how === "tell" ? "Tell the agent" : "Send the work back"}</button>
          {send.isError && <Trouble error={send.error} />}
        </div>
      )}
    </section>
  );
}
