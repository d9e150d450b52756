// Marks hidden characters in every text that a page draws, whatever component it comes from.
import { createElement, type ReactNode } from "react";
import { hasHidden, pieces, reveal } from "../hidden";

/** Elements whose content is text alone, where a mark cannot be an element of its own. */
const BARE = new Set(["option", "title", "text", "tspan", "textarea"]);
/** Attributes that a browser shows or reads aloud. */
const SHOWN = ["title", "aria-label", "placeholder", "alt"];

function marked(text: string): ReactNode {
  return pieces(text).map((piece, at) =>
    piece.hidden ? createElement("span", { key: at, className: "hidden-char", title: "a character that is not seen" }, piece.text) : piece.text);
}

function child(one: unknown, bare: boolean): unknown {
  if (typeof one === "string") return hasHidden(one) ? (bare ? reveal(one) : createElement("span", { key: `hidden ${one}` }, marked(one))) : one;
  return Array.isArray(one) ? children(one, bare) : one;
}

/** The same array where nothing is to be marked, so that nothing is drawn anew for it. */
function children(all: unknown[], bare: boolean): unknown[] {
  const now = all.map((one) => child(one, bare));
  return now.some((one, at) => one !== all[at]) ? now : all;
}

/** The properties of an element of the page, with hidden characters marked in what they show. */
export function shown(type: string, props: Record<string, unknown>): Record<string, unknown> {
  let now = props;
  const set = (name: string, value: unknown) => {
    if (value !== now[name]) now = { ...now, [name]: value };
  };
  for (const name of SHOWN) if (typeof props[name] === "string") set(name, reveal(props[name]));
  set("children", child(props["children"], BARE.has(type)));
  return now;
}
