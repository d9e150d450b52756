// What the screens ask for, and how live messages keep it true. While the socket is away, lists are asked for again
// every few seconds instead.
import { QueryClient, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { api, type Hold, type LiveMessage, Refused, type Run } from "./http";
import { onMessage, useLink, useLiveRuns } from "./socket";
import { urgency } from "./words";

const PAGE = 1000;

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

/** Every run there is, newest first: pages as they were read, and over them what the socket told since. */
export function useRuns() {
  const query = useInfiniteQuery({
    queryKey: ["runs"],
    queryFn: ({ pageParam }) => api.runs(pageParam || undefined),
    initialPageParam: "",
    getNextPageParam: (last) => (last.length < PAGE ? undefined : last.at(-1)?.id),
    refetchInterval: usePolling(),
    staleTime: 60_000,
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage, isError } = query;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, isError]);
  const live = useLiveRuns();
  const pages = query.data?.pages;
  const runs = useMemo(() => {
    if (!pages) return undefined;
    return merged(pages.flat(), live);
  }, [pages, live]);
  return { ...query, runs };
}

export function merged(read: Run[], live: ReadonlyMap<string, Run>): Run[] {
  const all = new Map(read.map((run) => [run.id, run]));
  for (const run of live.values()) {
    const known = all.get(run.id);
    if (!known || known.version < run.version) all.set(run.id, run);
  }
  return [...all.values()].sort((a, b) => (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0));
}
