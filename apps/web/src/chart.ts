// Scales for charts: round numbers at the side, places for bars and points. Pure.
export type Unit = "count" | "share" | "seconds" | "usd" | "times";

const STEPS = { plain: [1, 2, 2.5, 5, 10], seconds: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 432_000, 864_000] };

/** Round numbers from 0 to at least `most`, at most `count` of them above 0. */
export function ticks(most: number, unit: Unit, count = 3): number[] {
  if (unit === "share") return [0, 0.5, 1];
  if (!(most > 0)) return [0, 1];
  const step = unit === "seconds" ? timeStep(most / count) : plainStep(most / count, unit === "count" ? 1 : 0);
  const marks = [0];
  for (let at = 1; (marks.at(-1) ?? 0) < most * 0.999_999; at += 1) marks.push(round(step * at));
  return marks;
}

function plainStep(rough: number, least: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (STEPS.plain.find((part) => part * power >= rough * 0.999_999) ?? 10) * power;
  return least > 0 ? Math.max(least, Math.ceil(step)) : step;
}

function timeStep(rough: number): number {
  return STEPS.seconds.find((step) => step >= rough) ?? Math.ceil(rough / 864_000) * 864_000;
}

const round = (value: number) => Number(value.toPrecision(12));

/** The middle of a band, and how wide a bar in it is. */
export function band(index: number, count: number, from: number, to: number): { x: number; width: number } {
  const room = (to - from) / Math.max(1, count);
  return { x: from + room * (index + 0.5), width: Math.max(2, Math.min(26, room * 0.62)) };
}

/** Points joined where neighbours are known; a week without a value is a gap, never a zero. */
export function segments(values: readonly (number | null | undefined)[]): number[][] {
  const parts: number[][] = [];
  let open: number[] = [];
  for (const [at, value] of values.entries()) {
    if (value === null || value === undefined) {
      if (open.length > 0) parts.push(open);
      open = [];
    } else open.push(at);
  }
  if (open.length > 0) parts.push(open);
  return parts;
}

/** Which labels fit below an axis: every one, every second, … always the last. */
export function labelled(count: number, room: number, each = 52): number[] {
  const every = Math.max(1, Math.ceil((count * each) / Math.max(1, room)));
  return Array.from({ length: count }, (_, at) => at).filter((at) => (count - 1 - at) % every === 0);
}
