// A chart over weeks: bars on top of each other, or lines. Arrows move along it and say every value in words; the same
// figures stand in a table beside it, so nobody needs the picture.
import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from "react";
import { band, labelled, segments, ticks, type Unit } from "../chart";

export type Series = { name: string; look: "one" | "two" | "three"; values: (number | null | undefined)[] };
type Props = { title: string; names: string[]; series: Series[]; unit: Unit; draw: "bars" | "lines"; say: (value: number | null | undefined) => string; total: string };

const HEIGHT = 150;
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 12, 10, 24];

function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(420);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => entry && setWidth(Math.max(220, Math.round(entry.contentRect.width))));
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return [box, width] as const;
}

export function Chart({ title, names, series, unit, draw, say, total }: Props) {
  const [box, width] = useWidth();
  const [at, setAt] = useState<number>();
  const sums = names.map((_, week) => (draw === "bars" ? series.reduce((sum, one) => sum + (one.values[week] ?? 0), 0) : Math.max(0, ...series.map((one) => one.values[week] ?? 0))));
  const marks = ticks(Math.max(...sums, 0), unit);
  const top = marks.at(-1) ?? 1;
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
  const place = (week: number) => band(week, names.length, LEFT, width - RIGHT);
  const move = (event: KeyboardEvent) => {
    const last = names.length - 1;
    const next = { ArrowLeft: Math.max(0, (at ?? last + 1) - 1), ArrowRight: Math.min(last, (at ?? last - 1) + 1), Home: 0, End: last }[event.key];
    if (event.key === "Escape") setAt(undefined);
    if (next === undefined) return;
    event.preventDefault();
    setAt(next);
  };
  const hover = (event: PointerEvent) => {
    const from = event.currentTarget.getBoundingClientRect().left;
    const week = Math.floor(((event.clientX - from - LEFT) / (width - RIGHT - LEFT)) * names.length);
    setAt(week >= 0 && week < names.length ? week : undefined);
  };
  const told = at === undefined ? total : `${weekWords(names[at])}: ${series.map((one) => `${series.length > 1 ? `${one.name} ` : ""}${say(one.values[at])}`).join(", ")}`;
  return (
    <figure className="chart" tabIndex={0} aria-label={`${title} by week. Arrow keys read week by week.`} onKeyDown={move} onBlur={() => setAt(undefined)}>
      <figcaption><h2>{title}</h2><p className="quiet" aria-live="polite">{told}</p></figcaption>
      <div ref={box} className="chart-box">
        <svg width={width} height={HEIGHT} aria-hidden="true" onPointerMove={hover} onPointerLeave={() => setAt(undefined)}>
          {marks.map((mark) => <g key={mark}><line x1={LEFT} x2={width - RIGHT} y1={y(mark)} y2={y(mark)} className="grid" /><text x={LEFT - 8} y={y(mark)} dy="0.35em" textAnchor="end">{say(mark)}</text></g>)}
          {at !== undefined && <rect x={place(at).x - (width - RIGHT - LEFT) / names.length / 2} y={TOP - 4} width={(width - RIGHT - LEFT) / names.length} height={HEIGHT - BOTTOM - TOP + 4} className="here" />}
          {labelled(names.length, width - LEFT).map((week) => <text key={week} x={place(week).x} y={HEIGHT - 7} textAnchor="middle">{shortWeek(names[week])}</text>)}
          {draw === "bars" ? names.map((name, week) => <Stack key={name} series={series} week={week} place={place(week)} y={y} />) : series.map((one) => <Curve key={one.name} one={one} x={(week) => place(week).x} y={y} />)}
        </svg>
      </div>
      {series.length > 1 && <ul className="legend">{series.map((one) => <li key={one.name}><svg width="14" height="12" aria-hidden="true"><Mark look={one.look} x={7} y={6} solid={draw === "bars"} /></svg>{one.name}</li>)}</ul>}
    </figure>
  );
}

function Stack({ series, week, place, y }: { series: Series[]; week: number; place: { x: number; width: number }; y: (value: number) => number }) {
  let below = 0;
  return series.map((one) => {
    const value = one.values[week] ?? 0;
    const [from, to] = [below, below + value];
    below = to;
    return value > 0 && <rect key={one.name} x={place.x - place.width / 2} width={place.width} y={y(to)} height={Math.max(1, y(from) - y(to) - (from > 0 ? 1 : 0))} rx="1.5" className={`fill-${one.look}`} />;
  });
}

function Curve({ one, x, y }: { one: Series; x: (week: number) => number; y: (value: number) => number }) {
  const point = (week: number) => `${x(week)} ${y(one.values[week] ?? 0)}`;
  return (
    <g>
      {segments(one.values).map((part) => <path key={part[0]} d={`M${part.map(point).join("L")}`} className={`stroke-${one.look}`} />)}
      {one.values.map((value, week) => value !== null && value !== undefined && <Mark key={week} look={one.look} x={x(week)} y={y(value)} />)}
    </g>
  );
}

/** Series differ in form as well as in colour. */
function Mark({ look, x, y, solid = false }: { look: Series["look"]; x: number; y: number; solid?: boolean }) {
  if (solid) return <rect x={x - 5} y={y - 5} width="10" height="10" rx="2" className={`fill-${look}`} />;
  if (look === "two") return <path d={`M${x} ${y - 4.5}L${x + 4.5} ${y}L${x} ${y + 4.5}L${x - 4.5} ${y}Z`} className="fill-two" />;
  if (look === "three") return <rect x={x - 3.5} y={y - 3.5} width="7" height="7" className="fill-three" />;
  return <circle cx={x} cy={y} r="3.6" className="fill-one" />;
}

const date = (name: string | undefined) => new Date(`${name ?? "1970-01-01"}T00:00:00Z`);
const shortWeek = (name: string | undefined) => date(name).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
export const weekWords = (name: string | undefined) => `Week of ${shortWeek(name)}`;
