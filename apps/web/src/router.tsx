// Where we are: the path, and going somewhere else without loading the page anew.
import { type AnchorHTMLAttributes, type MouseEvent, useSyncExternalStore } from "react";

const watchers = new Set<() => void>();
const tell = () => {
  for (const watcher of watchers) watcher();
};
window.addEventListener("popstate", tell);

export function go(to: string, how: "push" | "replace" = "push") {
  if (to === location.pathname + location.search) return;
  if (how === "push") history.pushState(null, "", to);
  else history.replaceState(null, "", to);
  tell();
}

const subscribe = (watcher: () => void) => {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
};
export const usePath = () => useSyncExternalStore(subscribe, () => location.pathname);
export const useSearch = () => useSyncExternalStore(subscribe, () => location.search);

/** The parts of a path that a pattern names, e.g. `/runs/:id`. */
export function match(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split("/"), path.replace(/\/$/, "").split("/")];
  if (pattern === "/") return path === "/" ? {} : undefined;
  if (wanted.length !== given.length) return undefined;
  const named: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const text = given[at] ?? "";
    if (part.startsWith(":")) named[part.slice(1)] = decodeURIComponent(text);
    else if (part !== text) return undefined;
  }
  return named;
}

export function Link({ href, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(href);
  };
  return <a href={href} onClick={follow} {...rest} />;
}
