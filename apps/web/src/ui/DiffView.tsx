// A diff by file, side by side where there is room and below each other where there is not.
import { type ReactNode, useContext, useMemo, useState } from "react";
import { compared, type FileDiff, parseDiff, type Row, sideBySide } from "../diff";

import { Comment, Commenting, Comments, placeOf } from "./Comments";

const LONG = 400;

/** `narrow`: below each other, where two diffs stand beside each other. */
export function DiffView({ diff, open = 12, narrow = false }: { diff: string; open?: number; narrow?: boolean }) {
  const files = useMemo(() => parseDiff(diff), [diff]);
  if (files.length === 0) return <p className="quiet">Nothing was changed.</p>;
  // What agents write about their work comes after the work itself.
  const sorted = [...files].sort((a, b) => Number(a.path.startsWith(".autonomous/")) - Number(b.path.startsWith(".autonomous/")));
  return (
    <div className={narrow ? "diff unified" : "diff"}>
      {sorted.map((file, at) => <File key={file.path} file={file} open={at < open && !file.path.startsWith(".autonomous/")} />)}
    </div>
  );
}

/** Two versions of one text, side by side. */
export function Versions({ before, after, name }: { before: string; after: string; name: string }) {
  const file = useMemo((): FileDiff => ({ path: name, status: "M", binary: false, added: 0, deleted: 0, hunks: [{ header: name, lines: compared(before, after) }] }), [before, after, name]);
  return <div className="diff"><div className="file"><Hunks file={file} /></div></div>;
}

function File({ file, open }: { file: FileDiff; open: boolean }) {
  const lines = file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
  const [isOpen, setOpen] = useState(open && lines < LONG);
  return (
    <details className="file" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span className={`change change-${file.status}`}>{{ A: "new", M: "changed", D: "deleted", R: "moved" }[file.status]}</span>
        <span className="path">{file.from ? `${file.from} → ${file.path}` : file.path}</span>
        <span className="plus">+{file.added}</span> <span className="minus">−{file.deleted}</span>
      </summary>
      {isOpen && (file.binary ? <p className="quiet">A binary file.</p> : <Hunks file={file} />)}
    </details>
  );
}

function Hunks({ file }: { file: FileDiff }) {
  const single = file.status === "A" || file.status === "D";
  return (
    <div className={single ? "hunks single" : "hunks"} tabIndex={0} role="group" aria-label={`Changes of ${file.path}`}>
      {file.hunks.map((hunk, at) => (
        <div key={at} className="hunk">
          {!single && <div className="hunk-head">{hunk.header || "⋯"}</div>}
          {sideBySide(hunk.lines).map((row, line) => <Pair key={line} row={row} single={single} path={file.path} />)}
        </div>
      ))}
    </div>
  );
}

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
        <span className="text">{line?.text || " "}</span>
      </div>
    );
  }
  return (
    <div className={`pair${left && left === right ? " same" : ""}`}>
      {number(left ? left.kind : "none", left?.old, !right)}
      <span className={`text left ${left ? left.kind : "none"}`}>{left?.text || " "}</span>
      {number(right ? right.kind : "none", right?.new, right !== undefined)}
      <span className={`text right ${right ? right.kind : "none"}`}>{right?.text || " "}</span>
    </div>
  );
}
