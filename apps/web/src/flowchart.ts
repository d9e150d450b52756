// Reads Mermaid flowcharts and state diagrams and gives every box its place. Drawn by us instead of by Mermaid itself:
// a policy without inline styles forbids what that library draws, and text of agents never becomes markup here.
// What this does not understand gives `undefined`; the server's drawing in text is shown then.
export type Shape = "box" | "round" | "diamond" | "circle";
export type Box = { id: string; label: string; shape: Shape; x: number; y: number; width: number; height: number };
export type Arrow = { from: string; to: string; label: string; dashed: boolean; open: boolean; points: [number, number][]; back: boolean };
export type Chart = { boxes: Box[]; arrows: Arrow[]; width: number; height: number };

export type Node = { id: string; label: string; shape: Shape; width?: number; height?: number };
export type Edge = { from: string; to: string; label: string; dashed: boolean; open: boolean };
const MOST = 80;

export function flowchart(source: string): Chart | undefined {
  const read = parse(source);
  if (!read || read.nodes.length === 0 || read.nodes.length > MOST) return undefined;
  return arranged(read.nodes, read.edges, read.sideways);
}

/** Statements that mean nothing to who reads the source either. */
const NOTHING = /^(end|direction\s+(TB|TD|BT|LR|RL)|\s*);?$/;
const words = (text: string): string[] => text.match(/[\p{L}\p{N}_]+/gu) ?? [];
const KEYWORDS = new Set(["flowchart", "graph", "TB", "TD", "BT", "LR", "RL", "stateDiagram", "v2", "state", "as", "br", "quot", "sequenceDiagram", "classDiagram", "erDiagram", "participant", "actor", "class"]);

/** The lines of a diagram that have words which its drawing does not show: comments, notes, links, cut labels. */
export function undrawn(source: string, drawn: readonly string[]): string[] {
  const seen = new Set(drawn.flatMap(words));
  // An id stands for the label it was given.
  const ids = new Set([...source.matchAll(/([\p{L}\p{N}_]{1,24})(?=[[({>])|(?<=\sas\s)\s*([\p{L}\p{N}_]{1,24})|([\p{L}\p{N}_]{1,24})(?=\s+as\s)/gu)].map((found) => found[1] ?? found[2] ?? found[3] ?? ""));
  const missing = (line: string) => {
    const text = line.trim();
    if (NOTHING.test(text)) return false;
    if (/%%|^(note|click|accTitle|accDescr)\b/i.test(text)) return words(text).length > 0;
    return words(text).some((word) => !seen.has(word) && !ids.has(word) && !KEYWORDS.has(word));
  };
  return source.split("\n").filter(missing);
}

export function parse(source: string): { nodes: Node[]; edges: Edge[]; sideways: boolean } | undefined {
  const lines = source.split("\n").map((line) => line.replace(/%%.*$/, "").trim()).filter((line) => line !== "");
  const head = lines.shift() ?? "";
  const flow = /^(?:flowchart|graph)\s*(TB|TD|BT|LR|RL)?;?$/.exec(head);
  const nodes = new Map<string, Node>();
  const edges: Edge[] = [];
  if (!flow && !/^stateDiagram(-v2)?$/.test(head)) return undefined;
  for (const line of lines) {
    for (const statement of flow ? line.split(";") : [line]) {
      const text = statement.trim();
      if (text === "" || /^(subgraph|end|direction|classDef|class|style|linkStyle|click|note)\b/.test(text)) continue;
      if (!(flow ? flowLine(text, nodes, edges) : stateLine(text, nodes, edges))) return undefined;
    }
  }
  return { nodes: [...nodes.values()], edges, sideways: flow?.[1] === "LR" || flow?.[1] === "RL" };
}

const NODE = /^([\p{L}\p{N}_.-]*[\p{L}\p{N}_])\s*(\(\(.*?\)\)|\(\[.*?\]\)|\[\[.*?\]\]|\[\(.*?\)\]|\[.*?\]|\(.*?\)|\{\{.*?\}\}|\{.*?\}|>.*?\])?(?::::?[\w-]+)?\s*/u;
const LINK = /^(?:(<?--|<?==|<?-\.)\s*([^->=.|][^|]*?)\s*(-->|---|==>|===|\.->|\.-)|(<?-{2,}>?|<?-{2,}[xo]|<?={2,}>?|<?-\.+->?))\s*(?:\|([^|]*)\|)?\s*/;

function flowLine(line: string, nodes: Map<string, Node>, edges: Edge[]): boolean {
  let rest = line;
  let from: string[] | undefined;
  let link: Omit<Edge, "from" | "to"> | undefined;
  for (;;) {
    const group: string[] = [];
    for (;;) {
      const found = NODE.exec(rest);
      if (!found?.[1]) return false;
      note(nodes, found[1], found[2]);
      group.push(found[1]);
      rest = rest.slice(found[0].length);
      if (!rest.startsWith("&")) break;
      rest = rest.slice(1).trimStart();
    }
    if (from && link) for (const a of from) for (const b of group) edges.push({ from: a, to: b, ...link });
    if (rest === "") return true;
    const joined = LINK.exec(rest);
    if (!joined) return false;
    const drawn = joined[4] ?? `${joined[1] ?? ""}${joined[3] ?? ""}`;
    link = { label: unquoted(joined[2] ?? joined[5] ?? ""), dashed: drawn.includes("."), open: !drawn.includes(">") };
    rest = rest.slice(joined[0].length);
    from = group;
  }
}

function stateLine(line: string, nodes: Map<string, Node>, edges: Edge[]): boolean {
  const named = /^state\s+"(.*)"\s+as\s+(\S+)$/.exec(line);
  if (named?.[2]) {
    nodes.set(named[2], { id: named[2], label: named[1] ?? "", shape: "round" });
    return true;
  }
  const arrow = /^(\S+)\s*-->\s*([^\s:]+)\s*(?::\s*(.*))?$/.exec(line);
  if (!arrow?.[1] || !arrow[2]) return /^\S+\s*:\s*.*$/.test(line);
  const id = (name: string, end: string) => (name === "[*]" ? end : name);
  const [from, to] = [id(arrow[1], "(start)"), id(arrow[2], "(end)")];
  for (const name of [from, to]) {
    if (nodes.has(name)) continue;
    const point = name === "(start)" || name === "(end)";
    nodes.set(name, { id: name, label: point ? "" : name, shape: point ? "circle" : "round" });
  }
  edges.push({ from, to, label: arrow[3] ?? "", dashed: false, open: false });
  return true;
}

function note(nodes: Map<string, Node>, id: string, body: string | undefined) {
  if (nodes.has(id) && !body) return;
  const shape: Shape = !body ? "box" : body.startsWith("{") ? "diamond" : body.startsWith("(") ? "round" : "box";
  const label = body ? unquoted(body.replace(/^[[({>]+\/?/, "").replace(/\/?[\])}]+$/, "")) : id;
  nodes.set(id, { id, label, shape });
}

function unquoted(text: string): string {
  return text.trim().replace(/^"(.*)"$/s, "$1").replace(/<br\s*\/?>/gi, " ").replace(/#quot;/g, '"');
}

/** Layers by the longest way from a beginning; arrows that go back do not count. */
function layers(nodes: Node[], edges: Edge[]): { layer: Map<string, number>; back: Set<Edge> } {
  const back = new Set<Edge>();
  const state = new Map<string, "open" | "done">();
  const out = new Map<string, Edge[]>();
  for (const edge of edges) out.set(edge.from, [...(out.get(edge.from) ?? []), edge]);
  const order: string[] = [];
  const visit = (id: string) => {
    state.set(id, "open");
    for (const edge of out.get(id) ?? []) {
      if (state.get(edge.to) === "open") back.add(edge);
      else if (!state.has(edge.to)) visit(edge.to);
    }
    state.set(id, "done");
    order.unshift(id);
  };
  for (const node of nodes) if (!state.has(node.id)) visit(node.id);
  const layer = new Map(nodes.map((node) => [node.id, 0]));
  for (const id of order) {
    for (const edge of out.get(id) ?? []) {
      if (!back.has(edge)) layer.set(edge.to, Math.max(layer.get(edge.to) ?? 0, (layer.get(id) ?? 0) + 1));
    }
  }
  return { layer, back };
}

function size(node: Node): [number, number] {
  if (node.width && node.height) return [node.width, node.height];
  if (node.shape === "circle") return [18, 18];
  const width = Math.min(230, Math.max(64, node.label.length * 7.3 + 28));
  return node.shape === "diamond" ? [width + 34, 54] : [width, 38];
}

/** Every box with its place, every arrow with its way. */
export function arranged(nodes: Node[], edges: Edge[], sideways: boolean): Chart {
  const { layer, back } = layers(nodes, edges);
  const rows: Node[][] = [];
  for (const node of nodes) (rows[layer.get(node.id) ?? 0] ??= []).push(node);
  const forward = edges.filter((edge) => !back.has(edge) && edge.from !== edge.to);
  for (let sweep = 0; sweep < 6; sweep += 1) untangle(rows, forward, sweep % 2 === 0);
  const labels = edges.some((edge) => edge.label);
  const [gapAlong, gapAcross] = sideways ? [labels ? 110 : 54, 26] : [labels ? 72 : 46, 34];
  const boxes = new Map<string, Box>();
  const span = (node: Node) => size(node)[sideways ? 1 : 0];
  const widest = Math.max(...rows.map((row) => row.reduce((sum, node) => sum + span(node) + gapAcross, -gapAcross)));
  let along = 12;
  for (const row of rows) {
    const deep = Math.max(...row.map((node) => size(node)[sideways ? 0 : 1]));
    let across = 12 + (widest - row.reduce((sum, node) => sum + span(node) + gapAcross, -gapAcross)) / 2;
    for (const node of row) {
      const [width, height] = size(node);
      const [x, y] = sideways ? [along + deep / 2, across + height / 2] : [across + width / 2, along + deep / 2];
      boxes.set(node.id, { ...node, x, y, width, height });
      across += span(node) + gapAcross;
    }
    along += deep + gapAlong;
  }
  const arrows = edges.map((edge, at) => route(edge, boxes, layer, back.has(edge), sideways, widest + 24, at));
  const side = arrows.some((arrow) => arrow.back) ? 60 + arrows.length * 3 : 0;
  const [far, deep] = [widest + 24 + side, along - gapAlong + 12];
  return { boxes: [...boxes.values()], arrows, width: sideways ? deep : far, height: sideways ? far : deep };
}

/** Moves every box towards the middle of its neighbours in the layer before (or after). */
function untangle(rows: Node[][], edges: Edge[], down: boolean) {
  const spot = new Map<string, number>();
  const note = (row: Node[]) => row.forEach((node, at) => spot.set(node.id, (at + 0.5) / row.length));
  rows.forEach(note);
  for (const row of down ? rows : [...rows].reverse()) {
    const middle = (node: Node) => {
      const near = edges.filter((edge) => (down ? edge.to : edge.from) === node.id);
      const spots = near.map((edge) => spot.get(down ? edge.from : edge.to) ?? 0.5);
      return spots.length > 0 ? spots.reduce((a, b) => a + b, 0) / spots.length : (spot.get(node.id) ?? 0.5);
    };
    const pull = new Map(row.map((node) => [node.id, middle(node)]));
    row.sort((a, b) => (pull.get(a.id) ?? 0) - (pull.get(b.id) ?? 0));
    note(row);
  }
}

function route(
  edge: Edge, boxes: Map<string, Box>, layer: Map<string, number>, goesBack: boolean, sideways: boolean, edgeOf: number, at: number,
): Arrow {
  const [a, b] = [boxes.get(edge.from), boxes.get(edge.to)];
  if (!a || !b) return { ...edge, points: [], back: false };
  const far = Math.abs((layer.get(edge.to) ?? 0) - (layer.get(edge.from) ?? 0)) > 1 || goesBack || edge.from === edge.to;
  if (sideways) {
    const lane = edgeOf + 14 + (at % 6) * 8;
    if (far) return { ...edge, back: true, points: [[a.x, a.y + a.height / 2], [a.x, lane], [b.x, lane], [b.x, b.y + b.height / 2]] };
    const middle = (a.x + a.width / 2 + b.x - b.width / 2) / 2;
    return { ...edge, back: false, points: [[a.x + a.width / 2, a.y], [middle, a.y], [middle, b.y], [b.x - b.width / 2, b.y]] };
  }
  const lane = edgeOf + 14 + (at % 6) * 8;
  if (far) return { ...edge, back: true, points: [[a.x + a.width / 2, a.y], [lane, a.y], [lane, b.y], [b.x + b.width / 2, b.y]] };
  const middle = (a.y + a.height / 2 + b.y - b.height / 2) / 2;
  return { ...edge, back: false, points: [[a.x, a.y + a.height / 2], [a.x, middle], [b.x, middle], [b.x, b.y - b.height / 2]] };
}
