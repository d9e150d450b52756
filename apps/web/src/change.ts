// A change of code as the server lists it: every file with true counts, and which of them a page opens by itself.
import type { ChangedFile } from "./http";
import { reveal } from "./hidden";

/** Files with at most so many changed lines are opened at once, */
const SMALL = 400;
/** until so many lines are open. */
const ENOUGH = 1500;

const lines = (file: ChangedFile) => (file.added ?? 0) + (file.deleted ?? 0);
const isRecord = (file: ChangedFile) => file.path.startsWith(".autonomous/");

/** What agents write about their work comes after the work itself. */
export const ordered = (files: ChangedFile[]): ChangedFile[] => [...files].sort((a, b) => Number(isRecord(a)) - Number(isRecord(b)));

/** Ids of the files that are shown without being asked for. */
export function openedAtOnce(files: ChangedFile[]): Set<string> {
  const open = new Set<string>();
  let left = ENOUGH;
  for (const file of files) {
    // A header costs something too.
    const cost = lines(file) + 5;
    if (lines(file) > SMALL || cost > left) continue;
    left -= cost;
    open.add(file.id);
  }
  return open;
}

const kinds: Record<string, string> = { "100644": "file", "100664": "file", "100755": "executable", "120000": "symlink", "160000": "submodule" };
const kind = (mode: string) => kinds[mode] ?? mode;

export const bytes = (size: number): string => (size < 1024 ? `${size} B` : size < 1024 * 1024 ? `${(size / 1024).toFixed(1)} KiB` : `${(size / 1024 / 1024).toFixed(1)} MiB`);

/** What name and counts do not say: mode, target, commit, size. */
export function about({ old, new: now, content }: ChangedFile): string[] {
  const said: string[] = [];
  if (old && now && kind(old.mode) !== kind(now.mode)) said.push(`${kind(old.mode)} → ${kind(now.mode)}`);
  else {
    const mode = kind((now ?? old)?.mode ?? "100644");
    if (mode !== "file") said.push(mode);
  }
  const from = old?.target ?? undefined;
  const to = now?.target ?? undefined;
  if (from !== undefined && to !== undefined && from !== to) said.push(`to ${reveal(from)}, now to ${reveal(to)}`);
  else if (to !== undefined || from !== undefined) said.push(`to ${reveal(to ?? from ?? "")}`);
  const commits = [old, now].filter((side) => side?.mode === "160000").map((side) => side?.object.slice(0, 12));
  if (commits.length > 0) said.push(`commit ${commits.join(" → ")}`);
  if (content === "binary") said.push(`binary, ${old && now ? `${bytes(old.size)} → ${bytes(now.size)}` : bytes((now ?? old)?.size ?? 0)}`);
  if (content === "escaped") said.push("git calls it binary; shown with escapes");
  return said;
}

/** Words of a filter, all of which a path must have. */
export function matching(files: ChangedFile[], filter: string): ChangedFile[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return files.filter((file) => words.every((word) => `${file.path} ${file.from ?? ""}`.toLowerCase().includes(word)));
}

/** `3 of 120 files not opened: a, b, c and 1 more` */
export function unopened(names: string[], all: number): string {
  const most = 6;
  const more = names.length > most ? ` and ${names.length - most} more` : "";
  return `${names.length} of ${all} ${all === 1 ? "file" : "files"} not opened: ${names.slice(0, most).map(reveal).join(", ")}${more}`;
}
