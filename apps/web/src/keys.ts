// Which key means what, apart from who listens. A key never means anything while somebody types.
export type Act =
  | "next" | "previous" | "open" | "approve" | "reject" | "suggest" | "help" | "close"
  | "inbox" | "runs" | "new" | "metrics" | "channels" | "settings" | "mark" | "compare" | "search" | { option: number };

export type Press = { key: string; ctrlKey: boolean; metaKey: boolean; altKey: boolean; typing: boolean };

const plain: Record<string, Act> = {
  j: "next", ArrowDown: "next", k: "previous", ArrowUp: "previous", Enter: "open",
  a: "approve", r: "reject", s: "suggest", "?": "help", Escape: "close", i: "inbox", l: "runs", n: "new",
  m: "metrics", t: "channels", ",": "settings", x: "mark", c: "compare", "/": "search",
};

export function meaning(press: Press): Act | undefined {
  if (press.ctrlKey || press.metaKey || press.altKey) return undefined;
  if (press.typing) return press.key === "Escape" ? "close" : undefined;
  if (/^[1-9]$/.test(press.key)) return { option: Number(press.key) - 1 };
  return plain[press.key];
}

/** The decision a key stands for on a hold that allows these; none where it would be a guess. */
export function decisionFor(act: Act, allowed: readonly string[]): string | undefined {
  const first = (words: string[]) => words.find((word) => allowed.includes(word));
  if (act === "approve") return first(["approve", "resume", "answer"]);
  if (act === "reject") return first(["reject", "retry"]);
  if (act === "suggest") return first(["suggest"]);
  return undefined;
}

/** The row after a move, kept inside the list. */
export function moved(index: number, length: number, act: "next" | "previous"): number {
  if (length === 0) return -1;
  return Math.max(0, Math.min(length - 1, index + (act === "next" ? 1 : -1)));
}

/** Whether somebody types there. Buttons and links take Enter for themselves, see `pressed`. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button"].includes(target.type);
}

export function pressed(event: KeyboardEvent): Act | undefined {
  const { target } = event;
  const takesEnter = target instanceof HTMLElement && target.closest("button, a, summary, [role=tab]") !== null;
  if (event.key === "Enter" && takesEnter) return undefined;
  const arrows = event.key.startsWith("Arrow");
  if (arrows && target instanceof HTMLInputElement) return undefined;
  return meaning({ ...pick(event), typing: isTyping(target) });
}

function pick({ key, ctrlKey, metaKey, altKey }: KeyboardEvent) {
  return { key, ctrlKey, metaKey, altKey };
}
