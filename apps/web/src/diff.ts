// Reads the hunks of a unified diff as the server sends them for one file, and lays them out in two columns.
export type Line = { kind: "same" | "add" | "del"; text: string; old?: number; new?: number; noEnd?: boolean };
export type Hunk = { header: string; lines: Line[] };
export type Row = { left?: Line; right?: Line };

/** The hunks of one file. The last line of a text that is not whole yet may be cut. */
export function parseHunks(text: string): Hunk[] {
  const hunks: Hunk[] = [];
  let hunk: Hunk | undefined;
  let [old, now, oldLeft, newLeft] = [0, 0, 0, 0];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const line of lines) {
    if (line.startsWith("\\")) {
      const last = hunk?.lines.at(-1);
      if (last) last.noEnd = true;
      continue;
    }
    // Inside a hunk the counts decide: a changed line may look like a header.
    if (hunk && (oldLeft > 0 || newLeft > 0)) {
      const body = line.slice(1);
      if (line.startsWith("+")) {
        hunk.lines.push({ kind: "add", text: body, new: now++ });
        newLeft -= 1;
      } else if (line.startsWith("-")) {
        hunk.lines.push({ kind: "del", text: body, old: old++ });
        oldLeft -= 1;
      } else {
        hunk.lines.push({ kind: "same", text: body, old: old++, new: now++ });
        oldLeft -= 1;
        newLeft -= 1;
      }
      continue;
    }
    const range = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/.exec(line);
    if (!range) continue;
    [old, oldLeft] = [Number(range[1]), Number(range[2] ?? 1)];
    [now, newLeft] = [Number(range[3]), Number(range[4] ?? 1)];
    hunk = { header: (range[5] ?? "").trim(), lines: [] };
    hunks.push(hunk);
  }
  return hunks;
}

/** What changed between two texts, line by line; very long ones are shown as replaced. */
export function compared(before: string, after: string): Line[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  const large = a.length * b.length > 4_000_000;
  const common = large ? [] : lengths(a, b);
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (!large && i < a.length && j < b.length && a[i] === b[j]) lines.push({ kind: "same", text: a[i] ?? "", old: ++i, new: ++j });
    else if (i < a.length && (j >= b.length || large || (common[i + 1]?.[j] ?? 0) >= (common[i]?.[j + 1] ?? 0))) lines.push({ kind: "del", text: a[i] ?? "", old: ++i });
    else lines.push({ kind: "add", text: b[j] ?? "", new: ++j });
  }
  return lines;
}

/** How many lines the rests of both texts have in common. */
function lengths(a: string[], b: string[]): Uint32Array[] {
  const table = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    const [row, below] = [table[i], table[i + 1]];
    if (!row || !below) continue;
    for (let j = b.length - 1; j >= 0; j -= 1) row[j] = a[i] === b[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
  }
  return table;
}

/** Removed lines beside the added ones that took their place. */
export function sideBySide(lines: Line[]): Row[] {
  const rows: Row[] = [];
  let gone: Line[] = [];
  let come: Line[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(gone.length, come.length); at += 1) {
      rows.push({ ...(gone[at] && { left: gone[at] }), ...(come[at] && { right: come[at] }) });
    }
    [gone, come] = [[], []];
  };
  for (const line of lines) {
    if (line.kind === "del") {
      if (come.length > 0) flush();
      gone.push(line);
    } else if (line.kind === "add") come.push(line);
    else {
      flush();
      rows.push({ left: line, right: line });
    }
  }
  flush();
  return rows;
}
