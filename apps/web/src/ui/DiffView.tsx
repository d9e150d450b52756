// The lines of a diff, side by side where there is room and below each other where there is not.
import { memo, type ReactNode, useContext, useMemo, useState } from "react";
import { compared, type Hunk, parseHunks, type Row, sideBySide } from "../diff";
import { Comment, Commenting, Comments, placeOf } from "./Comments";
import { Marked } from "./bits";

/** Two versions of one text, side by side. */
export function Versions({ before, after, name }: { before: string; after: string; name: string }) {
  const hunks = useMemo((): Hunk[] => [{ header: name, lines: compared(before, after) }], [before, after, name]);
  return <div className="diff"><div className="file"><Lines hunks={hunks} path={name} single={false} /></div></div>;
}

/** The hunks of one file. */
export function Hunks({ text, path, single }: { text: string; path: string; single: boolean }) {
  const hunks = useMemo(() => parseHunks(text), [text]);
  return <Lines hunks={hunks} path={path} single={single} />;
}

function Lines({ hunks, path, single }: { hunks: Hunk[]; path: string; single: boolean }) {
  return (
    <div className={single ? "hunks single" : "hunks"} tabIndex={0} role="group" aria-label={`Changes of ${path}`}>
      {hunks.map((hunk, at) => (
        <div key={at} className="hunk">
          {!single && <div className="hunk-head"><Marked text={hunk.header || "⋯"} /></div>}
          {blocks(sideBySide(hunk.lines)).map((rows, block) => <Block key={block} rows={rows} single={single} path={path} />)}
        </div>
      ))}
    </div>
  );
}

/** Rows that are drawn together: a long file that grows is not drawn anew from its beginning. */
const ROWS = 200;
const blocks = (rows: Row[]): Row[][] => Array.from({ length: Math.ceil(rows.length / ROWS) }, (_, at) => rows.slice(at * ROWS, (at + 1) * ROWS));

type BlockProps = { rows: Row[]; single: boolean; path: string };
const Block = memo(
  ({ rows, single, path }: BlockProps) => <div className="block">{rows.map((row, at) => <Pair key={at} row={row} single={single} path={path} />)}</div>,
  (before, after) => before.path === after.path && before.single === after.single && isSame(before.rows, after.rows),
);
/** Parts of a file are only ever added at its end. */
const isSame = (a: Row[], b: Row[]) => a.length === b.length && a.every((row, at) => row.left?.text === b[at]?.left?.text && row.right?.text === b[at]?.right?.text && row.left?.old === b[at]?.left?.old && row.right?.new === b[at]?.right?.new && row.right?.noEnd === b[at]?.right?.noEnd && row.left?.noEnd === b[at]?.left?.noEnd);

/** A line, and below it what the person says about it. */
function Pair({ row, single, path }: { row: Row; single: boolean; path: string }) {
  const comments = useContext(Comments);
  const [writing, setWriting] = useState(false);
  const line = row.right ?? row.left;
  const place = placeOf(path, line);
  const shown = <Cells row={row} single={single} place={place} onComment={comments && (() => setWriting(true))} />;
  if (!comments) return shown;
  const said = comments.list.find((comment) => comment.place === place);
  return (
    <>
      {shown}
      {writing && <Commenting before={said?.text ?? ""} place={place} leave={() => setWriting(false)} />}
      {said && !writing && <Comment text={said.text} drop={() => comments.say(place, "")} />}
    </>
  );
}

type CellsProps = { row: Row; single: boolean; place: string; onComment: (() => void) | undefined };

function Cells({ row: { left, right }, single, place, onComment }: CellsProps) {
  const number = (kind: string, text: ReactNode, on: boolean) =>
    on && onComment ? <button type="button" className={`number ${kind}`} aria-label={`Comment on ${place}`} onClick={onComment}>{text}</button> : <span className={`number ${kind}`}>{text}</span>;
  if (single) {
    const line = left ?? right;
    return (
      <div className={`pair ${line?.kind ?? "same"}`}>
        {number("", line?.new ?? line?.old, true)}
        <Text line={line} kind="text" />
      </div>
    );
  }
  return (
    <div className={`pair${left && left === right ? " same" : ""}`}>
      {number(left ? left.kind : "none", left?.old, !right)}
      <Text line={left} kind={`text left ${left ? left.kind : "none"}`} />
      {number(right ? right.kind : "none", right?.new, right !== undefined)}
      <Text line={right} kind={`text right ${right ? right.kind : "none"}`} />
    </div>
  );
}

function Text({ line, kind }: { line: Row["left"] | undefined; kind: string }) {
  return (
    <span className={kind}>
      <Marked text={line?.text || " "} />
      {line?.noEnd && <span className="no-end"> no line end at the end of the file</span>}
    </span>
  );
}
