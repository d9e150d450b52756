// A change of code: the whole list of files with true counts, and the diff of each, loaded when it is opened. What was
// not opened is known, so that nobody says yes to it without a word.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import { about, bytes, matching, openedAtOnce, ordered } from "../change";
import { api, type Binary, type ChangedFile, type ChangeOf, type Changes } from "../http";
import { one } from "../words";
import { Hunks } from "./DiffView";
import { Loading, Marked, Trouble } from "./bits";

/** How far the change on the screen was opened. */
export type Opened = { state: "loading" | "failed" | "there"; all: number; unopened: string[]; openAll: () => void };

const key = (run: string, of: ChangeOf) => (of === "branch" ? ["run", run, "change"] : ["change", run, of]);

/** Every file of a change, with all of its pages. */
export function useChange(run: string, of: ChangeOf, wanted = true) {
  return useQuery({ queryKey: key(run, of), queryFn: () => allFiles(run, of), enabled: wanted, staleTime: of === "branch" ? 5_000 : Number.POSITIVE_INFINITY });
}

async function allFiles(run: string, of: ChangeOf): Promise<Changes> {
  const list = await api.changeFiles(run, of, 0);
  let next = list.next;
  while (next !== undefined && next !== null) {
    const more = await api.changeFiles(run, of, next, list.head);
    list.files.push(...more.files);
    next = more.next;
  }
  return list;
}

type Props = { run: string; of: ChangeOf; onOpened?: (opened: Opened) => void; narrow?: boolean };

export function ChangeView({ run, of, onOpened, narrow = false }: Props) {
  const change = useChange(run, of);
  const [filter, setFilter] = useState("");
  const [wish, setWish] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [whole, setWhole] = useState<ReadonlySet<string>>(new Set());
  const head = change.data?.head;
  const files = useMemo(() => ordered(change.data?.files ?? []), [change.data]);
  const atOnce = useMemo(() => openedAtOnce(files), [files]);
  // What was seen of another commit does not count for this one.
  useEffect(() => {
    setWish(new Map());
    setWhole(new Set());
  }, [head]);
  const onWhole = useCallback((id: string) => setWhole((known) => (known.has(id) ? known : new Set(known).add(id))), []);
  const openAll = useCallback(() => {
    setFilter("");
    setWish(new Map(files.map((file) => [file.id, true])));
  }, [files]);
  const state = change.isError ? "failed" : change.data ? "there" : "loading";
  useEffect(() => {
    onOpened?.({ state, all: files.length, unopened: files.filter((file) => !whole.has(file.id)).map((file) => file.path), openAll });
  }, [onOpened, state, files, whole, openAll]);
  if (!change.data) return change.isError ? <Trouble error={change.error} retry={() => void change.refetch()} /> : <Loading lines={8} />;
  if (files.length === 0) return <p className="quiet">Nothing was changed.</p>;
  const found = matching(files, filter);
  return (
    <div className={narrow ? "diff unified" : "diff"}>
      <div className="change-head">
        <p><Totals total={change.data.total} /></p>
        {files.length > 1 && <input type="search" aria-label="Filter files" placeholder="Filter files" value={filter} onChange={(event) => setFilter(event.target.value)} />}
        {whole.size < files.length && <button type="button" className="weight-plain" onClick={openAll}>Open all</button>}
      </div>
      {files.length > 12 && <FileList files={found} all={files.length} whole={whole} open={(id) => setWish((known) => new Map(known).set(id, true))} />}
      {found.length === 0 && <p className="quiet">No file has these words in its path.</p>}
      {found.map((file) => (
        <File key={file.id} file={file} run={run} of={of} head={change.data.head} open={wish.get(file.id) ?? atOnce.has(file.id)}
          setOpen={(open) => setWish((known) => new Map(known).set(file.id, open))} onWhole={onWhole} />
      ))}
    </div>
  );
}

export function Totals({ total }: { total: Changes["total"] }) {
  return <><strong>{one(total.files, "file")}</strong> <span className="plus">+{total.added}</span> <span className="minus">−{total.deleted}</span>{total.binary > 0 && <span className="quiet"> · {total.binary} binary</span>}</>;
}

const words: Record<string, string> = { A: "new", M: "changed", D: "deleted", R: "moved", T: "kind changed" };

function Counts({ file }: { file: ChangedFile }) {
  if (file.added === undefined || file.added === null) return <span className="quiet">binary</span>;
  return <><span className="plus">+{file.added}</span> <span className="minus">−{file.deleted}</span></>;
}

/** Every name at a glance, for changes of many files. */
function FileList({ files, all, whole, open }: { files: ChangedFile[]; all: number; whole: ReadonlySet<string>; open: (id: string) => void }) {
  return (
    <details className="file-list" open>
      <summary>{files.length === all ? `All ${all} files` : `${files.length} of ${all} files`}</summary>
      <ul>
        {files.map((file) => (
          <li key={file.id}>
            <a href={`#file-${file.id}`} onClick={() => open(file.id)}><Marked text={file.path} /></a> <Counts file={file} />
            {!whole.has(file.id) && <span className="quiet"> not opened</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}

type FileProps = { file: ChangedFile; run: string; of: ChangeOf; head: string; open: boolean; setOpen: (open: boolean) => void; onWhole: (id: string) => void };

function File({ file, run, of, head, open, setOpen, onWhole }: FileProps) {
  const said = about(file);
  return (
    <details className="file" id={`file-${file.id}`} open={open} onToggle={(event) => event.currentTarget.open !== open && setOpen(event.currentTarget.open)}>
      <summary>
        <span className={`change change-${file.status}`}>{words[file.status] ?? file.status}</span>
        <span className="path">{file.from && <><Marked text={file.from} /> → </>}<Marked text={file.path} />{said.length > 0 && <span className="about"> {said.join(" · ")}</span>}</span>
        <span className="counts"><Counts file={file} /></span>
      </summary>
      {open && <FileText file={file} run={run} of={of} head={head} onWhole={onWhole} />}
    </details>
  );
}

function FileText({ file, run, of, head, onWhole }: Omit<FileProps, "open" | "setOpen">) {
  const [forced, setForced] = useState(false);
  const pages = useInfiniteQuery({
    queryKey: ["change-file", run, of, head, file.id, forced],
    queryFn: ({ pageParam }) => api.changeFile(run, of, { file: file.id, offset: pageParam, head, text: forced }),
    initialPageParam: 0,
    getNextPageParam: (last) => last.next ?? undefined,
    // A commit does not change.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage, isError, error, refetch } = pages;
  const isWhole = data !== undefined && !hasNextPage;
  useEffect(() => {
    if (isWhole) onWhole(file.id);
  }, [isWhole, file.id, onWhole]);
  const text = useMemo(() => data?.pages.map((page) => page.text).join("") ?? "", [data]);
  const first = data?.pages[0];
  if (!first) return isError ? <Trouble error={error} retry={() => void refetch()} /> : <Loading lines={3} />;
  if (first.file.content === "binary") return <Binaries old={first.oldBinary} now={first.newBinary} asText={() => setForced(true)} />;
  return (
    <>
      {data.pages.some((page) => !page.exact) && <p className="quiet">Bytes that are not UTF-8 are shown as <code>\xNN</code>.</p>}
      {text === "" ? <p className="quiet">No line differs.</p> : <Hunks text={text} path={file.path} single={file.status === "A" || file.status === "D"} />}
      {hasNextPage && (
        <p className="more">
          <button type="button" className="weight-plain" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>{isFetchingNextPage ? "loading…" : "Load more of this file"}</button>
          <span className="quiet"> {bytes(data.pages.at(-1)?.next ?? 0)} are shown; there is more.</span>
        </p>
      )}
      {isError && <Trouble error={error} retry={() => void fetchNextPage()} />}
    </>
  );
}

function Binaries({ old, now, asText }: { old: Binary | null | undefined; now: Binary | null | undefined; asText: () => void }) {
  const sides = [["Before", old], ["After", now]] as const;
  return (
    <div className="binary">
      {sides.map(([word, side]) => side && (
        <dl key={word}>
          <dt>{word}</dt><dd>{side.kind}, {side.size} bytes</dd>
          <dt>SHA-256</dt><dd className="mono">{side.sha256}</dd>
          <dt>First bytes</dt><dd className="mono">{side.first.match(/.{1,32}/g)?.map((row) => <span key={row}>{row.match(/../g)?.join(" ")}<br /></span>)}</dd>
        </dl>
      ))}
      <button type="button" className="weight-plain" onClick={asText}>Show it as text</button>
    </div>
  );
}
