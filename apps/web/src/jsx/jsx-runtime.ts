// React's own way to make elements, with hidden characters marked in the text of each. `vite.config.ts` and `tsconfig.json`
// name it, so that no component can leave it out.
import type { ElementType, Key } from "react";
import { Fragment, jsx as plain, jsxs as plains } from "react/jsx-runtime";
import { shown } from "./marking";

export type { JSX } from "react/jsx-runtime";
export { Fragment };

type Props = Record<string, unknown>;
const prepared = (type: ElementType | typeof Fragment, props: Props) => (typeof type === "string" ? shown(type, props) : type === Fragment ? shown("", props) : props);

export const jsx = (type: ElementType, props: Props, key?: Key) => plain(type, prepared(type, props), key);
export const jsxs = (type: ElementType, props: Props, key?: Key) => plains(type, prepared(type, props), key);
