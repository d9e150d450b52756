// Short words about what just happened. Only said once the server has said so.
import { useSyncExternalStore } from "react";
import { Words } from "./bits";

type Toast = { id: number; text: string; tone: "good" | "bad"; hint?: string };
let toasts: Toast[] = [];
let last = 0;
const watchers = new Set<() => void>();
const change = (next: Toast[]) => {
  toasts = next;
  for (const watcher of watchers) watcher();
};

export function say(text: string, tone: Toast["tone"] = "good", hint?: string) {
  last += 1;
  const toast = { id: last, text, tone, ...(hint ? { hint } : {}) };
  change([...toasts.slice(-2), toast]);
  window.setTimeout(() => change(toasts.filter((one) => one !== toast)), tone === "good" ? 5_000 : 12_000);
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <div key={toast.id} className={`toast tone-${toast.tone}`}>
          <Words text={toast.text} />
          {toast.hint && <small><Words text={toast.hint} /></small>}
        </div>
      ))}
    </div>
  );
}
