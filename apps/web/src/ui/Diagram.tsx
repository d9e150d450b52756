// A diagram as SVG made of React elements: text stays text, and no style or script is inline.
import { useId, useMemo } from "react";
import { type Arrow, type Box, flowchart, undrawn } from "../flowchart";

export function Diagram({ source, drawing }: { source: string; drawing?: string | undefined }) {
  const chart = useMemo(() => flowchart(source), [source]);
  const tip = useId();
  const missing = useMemo(() => undrawn(source, chart ? [...chart.boxes.map(boxLabel), ...chart.arrows.map(arrowLabel)] : [drawing || source]), [source, drawing, chart]);
  const rest = missing.length > 0 && <figcaption className="undrawn"><p className="quiet">In its source, and not in the drawing:</p><pre tabIndex={0}>{missing.join("\n")}</pre></figcaption>;
  if (!chart) return <figure className="diagram"><pre className="drawing" tabIndex={0}>{drawing || source}</pre>{rest}</figure>;
  const told = chart.arrows.map((arrow) => `${name(chart.boxes, arrow.from)} to ${name(chart.boxes, arrow.to)}${arrow.label ? ` (${arrow.label})` : ""}`);
  return (
    <figure className="diagram">
      <svg viewBox={`0 0 ${chart.width} ${chart.height}`} width={chart.width} height={chart.height} role="img" aria-label={`Diagram: ${told.join("; ")}`}>
        <defs>
          <marker id={tip} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">
            <path d="M0 0.5 L7.5 4 L0 7.5 Z" className="tip" />
          </marker>
        </defs>
        {chart.arrows.map((arrow, at) => <Line key={at} arrow={arrow} tip={tip} />)}
        {chart.boxes.map((box) => <Node key={box.id} box={box} />)}
        {chart.arrows.map((arrow, at) => <Label key={at} arrow={arrow} />)}
      </svg>
      {rest}
    </figure>
  );
}

const name = (boxes: Box[], id: string) => boxes.find((box) => box.id === id)?.label || id;

function Line({ arrow, tip }: { arrow: Arrow; tip: string }) {
  return <path d={rounded(arrow.points)} className={arrow.dashed ? "line dashed" : "line"} markerEnd={arrow.open ? undefined : `url(#${tip})`} />;
}

/** Straight lines with soft corners. */
function rounded(points: [number, number][]): string {
  const [first, ...rest] = points.filter((point, at) => at === 0 || point[0] !== points[at - 1]?.[0] || point[1] !== points[at - 1]?.[1]);
  if (!first) return "";
  let path = `M${first[0]} ${first[1]}`;
  let before = first;
  for (const [at, point] of rest.entries()) {
    const next = rest[at + 1];
    if (!next) path += `L${point[0]} ${point[1]}`;
    else {
      const [into, out] = [towards(point, before), towards(point, next)];
      path += `L${into[0]} ${into[1]}Q${point[0]} ${point[1]} ${out[0]} ${out[1]}`;
    }
    before = point;
  }
  return path;
}

function towards(from: [number, number], to: [number, number]): [number, number] {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  const part = length === 0 ? 0 : Math.min(8, length / 2) / length;
  return [from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part];
}

/** What of a label fits its box. */
function boxLabel({ label, width }: Box): string {
  const most = Math.floor((width - 18) / 6.6);
  return label.length > most + 2 ? `${label.slice(0, most)}…` : label;
}

function arrowLabel({ label, points }: Arrow): string {
  if (points.length < 4) return "";
  return label.length > 28 ? `${label.slice(0, 27)}…` : label;
}

function Node({ box }: { box: Box }) {
  const { x, y, width, height } = box;
  const corners = `${x},${y - height / 2} ${x + width / 2},${y} ${x},${y + height / 2} ${x - width / 2},${y}`;
  return (
    <g className={`node ${box.shape}`}>
      <title>{box.label}</title>
      {box.shape === "diamond" && <polygon points={corners} />}
      {box.shape === "circle" && <circle cx={x} cy={y} r={width / 2} />}
      {(box.shape === "box" || box.shape === "round") && (
        <rect x={x - width / 2} y={y - height / 2} width={width} height={height} rx={box.shape === "round" ? height / 2 : 7} />
      )}
      <text x={x} y={y} dy="0.35em" textAnchor="middle">{boxLabel(box)}</text>
    </g>
  );
}

function Label({ arrow }: { arrow: Arrow }) {
  if (!arrow.label || arrow.points.length < 4) return null;
  const [, b, c, d] = arrow.points as [[number, number], [number, number], [number, number], [number, number]];
  const straight = !arrow.back && b[0] !== c[0];
  const x = arrow.back ? (b[0] + c[0]) / 2 : straight ? c[0] : (b[0] + c[0]) / 2;
  const y = arrow.back ? (b[1] + c[1]) / 2 : straight ? (c[1] + d[1]) / 2 - 5 : (b[1] + c[1]) / 2;
  const text = arrowLabel(arrow);
  const width = text.length * 6.2 + 10;
  return (
    <g className="label">
      <title>{arrow.label}</title>
      <rect x={x - width / 2} y={y - 9} width={width} height={18} rx={4} />
      <text x={x} y={y} dy="0.35em" textAnchor="middle">{text}</text>
    </g>
  );
}
