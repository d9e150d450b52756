// Reads the Markdown that plans are written in, as a list of blocks; what is unknown stays text.
export type Inline = { kind: "text" | "code" | "strong" | "em"; text: string };
export type Block =
  | { kind: "heading"; level: number; text: Inline[] }
  | { kind: "paragraph" | "quote"; text: Inline[] }
  | { kind: "list"; ordered: boolean; items: { text: Inline[]; done?: boolean; depth: number }[] }
  | { kind: "code"; language: string; info: string; text: string }
  | { kind: "table"; rows: Inline[][][] }
  | { kind: "rule" };

export function inline(text: string): Inline[] {
  const parts: Inline[] = [];
  // Stars that do not stand around words are text: `src/**` is a path.
  const pattern = /`([^`]+)`|(?<![\p{L}\p{N}/*])\*\*(?![\s/*])([^*]*[^\s/*])\*\*(?!\*)|(?<![\p{L}\p{N}/*.])\*(?![\s/*.])([^*]*[^\s/*.])\*(?![\p{L}\p{N}*.])/gu;
  let last = 0;
  for (const found of text.matchAll(pattern)) {
    if (found.index > last) parts.push({ kind: "text", text: text.slice(last, found.index) });
    if (found[1] !== undefined) parts.push({ kind: "code", text: found[1] });
    else if (found[2] !== undefined) parts.push({ kind: "strong", text: found[2] });
    else parts.push({ kind: "em", text: found[3] ?? "" });
    last = found.index + found[0].length;
  }
  if (last < text.length) parts.push({ kind: "text", text: text.slice(last) });
  return parts;
}

/** A fence by the rules of CommonMark, which are those of the server's drawings too. */
function opening(line: string): { marks: string; info: string } | undefined {
  const found = /^\s*(`{3,}|~{3,})(.*)$/s.exec(line);
  const [marks = "", info = ""] = found?.slice(1) ?? [];
  return found && !(marks.startsWith("`") && info.includes("`")) ? { marks, info: info.trim() } : undefined;
}

/** Only marks end a block: words after them would not be shown. */
function closes(line: string, marks: string): boolean {
  const text = line.trim();
  return text.length >= marks.length && [...text].every((letter) => letter === marks[0]);
}

export function markdown(source: string): Block[] {
  const blocks: Block[] = [];
  // What stands before a document is part of what agents read.
  const front = /^---\r?\n([\s\S]*?)\r?\n---(?:\r?\n|$)/.exec(source);
  if (front) blocks.push({ kind: "code", language: "", info: "", text: front[1] ?? "" });
  const lines = source.slice(front?.[0].length ?? 0).split("\n");
  let words: string[] = [];
  const flush = () => {
    if (words.length > 0) blocks.push({ kind: "paragraph", text: inline(words.join(" ")) });
    words = [];
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const fence = opening(line);
    if (fence) {
      flush();
      const body: string[] = [];
      for (at += 1; at < lines.length && !closes(lines[at] ?? "", fence.marks); at += 1) body.push(lines[at] ?? "");
      blocks.push({ kind: "code", language: fence.info.split(/[\s{]/, 1)[0]?.toLowerCase() ?? "", info: fence.info, text: body.join("\n") });
      continue;
    }
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    const item = /^(\s*)(?:[-*+]|(\d+)[.)])\s+(?:\[([ xX])\]\s+)?(.*)$/.exec(line);
    if (heading) {
      flush();
      blocks.push({ kind: "heading", level: heading[1]?.length ?? 1, text: inline(heading[2] ?? "") });
    } else if (/^(---+|\*\*\*+)\s*$/.test(line)) {
      flush();
      blocks.push({ kind: "rule" });
    } else if (item) {
      flush();
      const ordered = item[2] !== undefined;
      const entry = { text: inline(item[4] ?? ""), depth: Math.floor((item[1] ?? "").length / 2), ...(item[3] !== undefined && { done: item[3] !== " " }) };
      const last = blocks.at(-1);
      if (last?.kind === "list" && last.ordered === ordered && (lines[at - 1] ?? "").trim() !== "") last.items.push(entry);
      else if (last?.kind === "list" && entry.depth > 0) last.items.push(entry);
      else blocks.push({ kind: "list", ordered, items: [entry] });
    } else if (/^\s*\|.*\|\s*$/.test(line)) {
      flush();
      const cells = line.trim().slice(1, -1).split("|").map((cell) => inline(cell.trim()));
      const last = blocks.at(-1);
      if (/^[\s|:-]+$/.test(line)) continue;
      if (last?.kind === "table" && (lines[at - 1] ?? "").trim().startsWith("|")) last.rows.push(cells);
      else blocks.push({ kind: "table", rows: [cells] });
    } else if (line.startsWith(">")) {
      flush();
      blocks.push({ kind: "quote", text: inline(line.replace(/^>\s?/, "")) });
    } else if (line.trim() === "") flush();
    else words.push(line.trim());
  }
  flush();
  return blocks;
}
