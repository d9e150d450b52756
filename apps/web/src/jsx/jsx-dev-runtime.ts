// The same while the pages are developed.
import type { ElementType, Key } from "react";
import { Fragment, jsxDEV as plain, type JSXSource } from "react/jsx-dev-runtime";
import { shown } from "./marking";

export type { JSX } from "react/jsx-runtime";
export { Fragment };

type Props = Record<string, unknown>;
export function jsxDEV(type: ElementType, props: Props, key: Key | undefined, isStatic: boolean, source?: JSXSource, self?: unknown) {
  const prepared = typeof type === "string" ? shown(type, props) : type === Fragment ? shown("", props) : props;
  return plain(type, prepared, key, isStatic, source, self);
}
