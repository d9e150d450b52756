// What the screens ask for, and how live messages keep it true. While the socket is away, lists are asked for again
// every few seconds instead.
import { QueryClient, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, type Hold, type LiveMessage, Refused, type Run } from "./http";
import { onMessage, useLink, useLiveRuns } from "./socket";
import { urgency } from "./words";

/** Some screens full; the rest is read as somebody scrolls there. */
const PAGE = 300;

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      refetchOnWindowFocus: true,
      retry: (times, error) => error instanceof Refused && error.status === 0 && times < 20,
      retryDelay: (times) => Math.min(5_000, 300 * 2 ** times),
    },
  },
});

/** What the inbox is after a run has moved. */
export function patched(holds: Hold[] | undefined, run: Run): Hold[] | undefined {
  if (!holds) return holds;
  const had = holds.find((hold) => hold.run === run.id);
  if (had?.id === run.hold?.id && had?.digest === run.hold?.digest) return holds;
  const rest = holds.filter((hold) => hold.run !== run.id);
  return run.hold ? [...rest, run.hold] : rest;
}

const moved = new Set<string>();
const spoke = new Set<string>();
let timer: number | undefined;

/** Runs that moved are looked up again, a few times a second at most. */
function later() {
  timer ??= window.setTimeout(() => {
    timer = undefined;
    for (const id of moved) void client.invalidateQueries({ queryKey: ["run", id] });
    for (const id of spoke) if (!moved.has(id)) void client.invalidateQueries({ queryKey: ["run", id, "sessions"] });
    moved.clear();
    spoke.clear();
  }, 300);
}

function follow(message: LiveMessage) {
  if (message.message === "snapshot") void client.invalidateQueries();
  if (message.message === "event") {
    client.setQueryData<Hold[]>(["holds"], (holds) => patched(holds, message.run));
    moved.add(message.run.id);
    later();
  }
  if (message.message === "activity" && /started|completed|error|note/.test(message.name)) {
    spoke.add(message.run);
    later();
  }
}
onMessage(follow);

const usePolling = () => (useLink() === "live" ? false : 4_000);

export function useMe() {
  return useQuery({ queryKey: ["me"], queryFn: api.me, staleTime: Number.POSITIVE_INFINITY, retry: false });
}
/** Only hides what would be refused: the server decides who may do what. */
export const useMayDecide = () => useMe().data?.role !== "viewer";
export const useIsAdmin = () => useMe().data?.role === "admin";

/** Paths of the repositories that runs were started in, the one last used first. */
export function useProjects(): string[] {
  const query = useQuery({ queryKey: ["projects"], queryFn: api.projects });
  return useMemo(() => query.data?.filter((one) => one.present).map((one) => one.path) ?? [], [query.data]);
}

export function useHolds() {
  const query = useQuery({ queryKey: ["holds"], queryFn: api.holds, refetchInterval: usePolling() });
  const holds = useMemo(() => (query.data ? [...query.data].sort(urgency) : undefined), [query.data]);
  return { ...query, holds };
}

export function useRun(id: string) {
  return useQuery({ queryKey: ["run", id], queryFn: () => api.run(id), refetchInterval: usePolling() });
}

export const useOfRun = <T>(id: string, what: string, ask: () => Promise<T>, wanted = true) =>
  useQuery({ queryKey: ["run", id, what], queryFn: ask, enabled: wanted, refetchInterval: usePolling() });

const WAITING = "awaiting_approval,awaiting_clarification,paused,stuck";

/** Runs that wait for a person or are at work: what the inbox tells of, however many others there are. */
export function useOpenRuns(): ReadonlyMap<string, Run> | undefined {
  const query = useQuery({ queryKey: ["open"], queryFn: () => api.runsWith(`${WAITING},queued,running`), refetchInterval: usePolling(), staleTime: 60_000 });
  const live = useLiveRuns();
  return useMemo(() => {
    if (!query.data) return undefined;
    const all = new Map(query.data.map((run) => [run.id, run]));
    for (const run of live.values()) if ((all.get(run.id)?.version ?? 0) < run.version) all.set(run.id, run);
    return all;
  }, [query.data, live]);
}

/** Runs that somebody started, newest first: pages as they were read, what was looked for, and over them what the
 * socket told since. */
export function useRuns(status: string, text: string) {
  const query = useInfiniteQuery({
    queryKey: ["runs", status],
    queryFn: ({ pageParam }) => api.runs({ limit: PAGE, before: pageParam, status }),
    initialPageParam: "",
    getNextPageParam: (last) => (last.length < PAGE ? undefined : last.at(-1)?.id),
    refetchInterval: usePolling(),
    staleTime: 60_000,
    // What is there is narrowed at once; what is missing comes.
    placeholderData: (before) => before,
  });
  // The server looks through the requests of all runs; what is read already is also looked through by id and branch.
  const word = text.slice(0, 60);
  const found = useQuery({
    queryKey: ["found", word, status],
    queryFn: () => api.runs({ limit: 1000, before: "", status, q: word }),
    enabled: word.length > 1,
    staleTime: 30_000,
    placeholderData: (before) => before,
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage, isError } = query;
  const live = useLiveRuns();
  const pages = query.data?.pages;
  const runs = useMemo(() => {
    if (!pages) return undefined;
    return merged([...pages.flat(), ...(word.length > 1 ? (found.data ?? []) : [])], live);
  }, [pages, live, found.data, word]);
  const more = () => {
    if (hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
  };
  return { ...query, runs, more, looking: word.length > 1 && found.isFetching };
}

export function merged(read: Run[], live: ReadonlyMap<string, Run>): Run[] {
  const all = new Map(read.map((run) => [run.id, run]));
  for (const run of live.values()) {
    const known = all.get(run.id);
    if (!run.parent && (!known || known.version < run.version)) all.set(run.id, run);
  }
  return [...all.values()].sort((a, b) => (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0));
}
