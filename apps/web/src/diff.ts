// Reads a unified diff as git prints it, and lays it out in two columns.
export type Line = { kind: "same" | "add" | "del"; text: string; old?: number; new?: number };
export type Hunk = { header: string; lines: Line[] };
export type FileDiff = { path: string; from?: string; status: "A" | "M" | "D" | "R"; binary: boolean; hunks: Hunk[]; added: number; deleted: number };
export type Row = { left?: Line; right?: Line };

export function parseDiff(text: string): FileDiff[] {
  const files: FileDiff[] = [];
  let file: FileDiff | undefined;
  let hunk: Hunk | undefined;
  let [old, now, oldLeft, newLeft] = [0, 0, 0, 0];
  for (const line of text.split("\n")) {
    // Inside a hunk the counts decide: a changed line may look like a header.
    if (file && hunk && (oldLeft > 0 || newLeft > 0)) {
      const body = line.slice(1);
      if (line.startsWith("+")) {
        hunk.lines.push({ kind: "add", text: body, new: now++ });
        newLeft -= 1;
        file.added += 1;
      } else if (line.startsWith("-")) {
        hunk.lines.push({ kind: "del", text: body, old: old++ });
        oldLeft -= 1;
        file.deleted += 1;
      } else if (!line.startsWith("\\")) {
        hunk.lines.push({ kind: "same", text: body, old: old++, new: now++ });
        oldLeft -= 1;
        newLeft -= 1;
      }
      continue;
    }
    if (line.startsWith("diff --git ")) {
      file = { path: bare(line.slice(line.lastIndexOf(" b/") + 1)), status: "M", binary: false, hunks: [], added: 0, deleted: 0 };
      hunk = undefined;
      files.push(file);
      continue;
    }
    if (!file) continue;
    const range = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/.exec(line);
    if (range) {
      [old, oldLeft] = [Number(range[1]), Number(range[2] ?? 1)];
      [now, newLeft] = [Number(range[3]), Number(range[4] ?? 1)];
      hunk = { header: (range[5] ?? "").trim(), lines: [] };
      file.hunks.push(hunk);
    } else if (line.startsWith("new file")) file.status = "A";
    else if (line.startsWith("deleted file")) file.status = "D";
    else if (line.startsWith("rename from ")) [file.status, file.from] = ["R", line.slice(12)];
    else if (line.startsWith("rename to ")) file.path = line.slice(10);
    else if (line.startsWith("+++ ") && line !== "+++ /dev/null") file.path = bare(line.slice(4));
    else if (line.startsWith("--- ") && line !== "--- /dev/null" && file.status === "D") file.path = bare(line.slice(4));
    else if (line.startsWith("Binary files ") || line.startsWith("GIT binary patch")) file.binary = true;
  }
  return files;
}

/** Without git's prefix, its quotes and the tab it puts after names with spaces. */
function bare(name: string): string {
  const plain = name.replace(/\t$/, "").replace(/^"(.*)"$/, "$1");
  return plain.replace(/^[ab]\//, "");
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
