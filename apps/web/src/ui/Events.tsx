// Everything that was recorded about a run, in order.
import { useState } from "react";
import { useIsAdmin, useOfRun } from "../data";
import { api, type Run } from "../http";
import { Link } from "../router";
import { shortId } from "../words";
import { ForkDialog } from "./Fork";
import { Loading, Time, Trouble } from "./bits";

export function Events({ run }: { run: Run }) {
  const { id } = run;
  const events = useOfRun(id, "events", () => api.events(id));
  const admin = useIsAdmin();
  const points = useOfRun(id, "points", () => api.forkPoints(id), admin && !run.parent);
  const places = new Set(points.data?.map((point) => point.at));
  const [fork, setFork] = useState<number>();
  const [text, setText] = useState("");
  if (!events.data) return events.isError ? <Trouble error={events.error} /> : <Loading lines={10} />;
  const shown = events.data.filter((event) => event.type.toLowerCase().includes(text.trim().toLowerCase().replaceAll(" ", "_")));
  return (
    <section aria-label="Events">
      <div className="filters"><input type="search" placeholder="Filter by type" aria-label="Filter events by type" value={text} onChange={(event) => setText(event.target.value)} /><span className="quiet">{shown.length} of {events.data.length}{places.size > 0 ? "; a fork can begin after those with ◆" : ""}</span></div>
      {run.forkedFrom && <p className="quiet">The first {run.forkedFrom.at} are those of <Link href={`/runs/${run.forkedFrom.run}/events`}>{shortId(run.forkedFrom.run)}</Link>.</p>}
      <ol className="events">
        {shown.map((event) => (
          <li key={event.sequence} className={event.sequence <= (run.forkedFrom?.at ?? 0) ? "inherited" : undefined}>
            <details>
              <summary><span className="quiet mono">{event.sequence}</span><Time at={event.timestamp} /><span>{event.type.toLowerCase().replaceAll("_", " ")}{places.has(event.sequence) && <span className="fork-mark"> ◆</span>}</span><span className="quiet hint">{hint(event.payload)}</span></summary>
              {places.has(event.sequence) && <button type="button" className="weight-plain small" onClick={() => setFork(event.sequence)}>Fork from here…</button>}
              <pre tabIndex={0}>{JSON.stringify(event.payload, null, 2)}</pre>
            </details>
          </li>
        ))}
      </ol>
      {fork !== undefined && <ForkDialog run={run} at={fork} close={() => setFork(undefined)} />}
    </section>
  );
}

/** The few words in an event that tell it from others of its kind. */
function hint(payload: unknown): string {
  const words: string[] = [];
  const look = (value: unknown, depth: number) => {
    if (words.length >= 3 || depth > 2) return;
    if (typeof value === "string" && value.length > 0 && value.length < 90 && !/^[0-9a-f]{40,}$/.test(value)) words.push(value);
    else if (value && typeof value === "object") for (const inner of Object.values(value)) look(inner, depth + 1);
  };
  look(payload, 0);
  return words.slice(0, 3).join(" · ");
}
