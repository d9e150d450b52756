// Who is told when something waits or has ended, and whether they were.
import { useMutation, useQuery } from "@tanstack/react-query";
import { client } from "../data";
import { api, type Destination } from "../http";
import { ago, one, type Tone } from "../words";
import { say } from "./Toasts";
import { Badge, Empty, Loading, Time, Trouble, useNow } from "./bits";

export function Notifications({ admin }: { admin: boolean }) {
  const destinations = useQuery({ queryKey: ["notifications"], queryFn: api.notifications, refetchInterval: 5_000 });
  if (!destinations.data) return destinations.isError ? <Trouble error={destinations.error} retry={() => void destinations.refetch()} /> : <Loading />;
  if (destinations.data.length === 0) {
    return (
      <Empty title="Nobody is told yet">
        <p>A webhook or your own desktop can be told when a run waits for somebody, asks about its budget, or has ended. Add it to <code>config.toml</code> in the data directory and start the server again:</p>
        <pre className="command">{'[[notify.webhook]]\nurl = "https://example.com/hooks/holdpoint"\nsecret_env = "HOLDPOINT_HOOK_SECRET"\n\n[notify.desktop]'}</pre>
      </Empty>
    );
  }
  return <section aria-label="Notifications">{destinations.data.map((place) => <Place key={place.name} place={place} admin={admin} />)}</section>;
}

const tones: Record<string, Tone> = { delivered: "good", waiting: "wait", dead: "bad" };

function Place({ place, admin }: { place: Destination; admin: boolean }) {
  const now = useNow();
  const refresh = () => void client.invalidateQueries({ queryKey: ["notifications"] });
  const test = useMutation({ mutationFn: () => api.testNotification(place.name), onSuccess: (told) => (told.state === "delivered" ? say(`The test reached ${place.name}`) : say(`The test did not reach ${place.name}`, "bad", told.problem ?? "look at where it goes")), onSettled: refresh });
  const retry = useMutation({ mutationFn: () => api.retryNotification(place.name), onSuccess: ({ revived }) => say(`${one(revived, "notice is", "notices are")} tried again`), onSettled: refresh });
  return (
    <article className="place-card" aria-label={place.name}>
      <header className="section-head">
        <h2>{place.name}</h2><Badge tone="calm">{place.kind}</Badge><span className="quiet">{place.to}</span>
        {admin && <button type="button" className="weight-plain small" disabled={test.isPending} onClick={() => test.mutate()}>{test.isPending ? "sending…" : "Send a test"}</button>}
        {admin && place.dead > 0 && <button type="button" className="weight-plain small" disabled={retry.isPending} onClick={() => retry.mutate()}>{retry.isPending ? "asking…" : `Try ${place.dead} again`}</button>}
      </header>
      <p className="quiet">Told of {place.events.join(", ")}. {place.waiting > 0 ? `${place.waiting} on their way. ` : ""}{place.dead > 0 ? `${place.dead} given up.` : ""}</p>
      {(test.isError || retry.isError) && <Trouble error={test.error ?? retry.error} />}
      {place.recent.length === 0 ? <p className="quiet">Nothing was sent yet.</p> : (
        <div className="scroll sheet" tabIndex={0} role="region" aria-label={`Newest notices to ${place.name}`}>
          <table className="data">
            <thead><tr><th scope="col">Event</th><th scope="col">State</th><th scope="col" className="right">Tries</th><th scope="col">Since</th><th scope="col">Next try</th><th scope="col">What went wrong</th></tr></thead>
            <tbody>
              {place.recent.map((notice) => (
                <tr key={notice.id}><th scope="row">{notice.event}</th><td><Badge tone={tones[notice.state] ?? "calm"}>{notice.state}</Badge></td><td className="right">{notice.tries}</td><td className="quiet">{ago(notice.createdAt, now)}</td><td className="quiet">{notice.dueAt && notice.state === "waiting" ? <Time at={notice.dueAt} /> : "–"}</td><td>{notice.problem ?? ""}</td></tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </article>
  );
}
