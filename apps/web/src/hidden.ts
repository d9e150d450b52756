// Which characters act on a reader's screen or hide from the reader; a test holds it against the list of `wire`.
const RANGES: readonly (readonly [number, number])[] = [
  [0x00, 0x1f], [0x7f, 0x9f], [0xad, 0xad], [0x34f, 0x34f], [0x61c, 0x61c], [0x115f, 0x1160], [0x17b4, 0x17b5],
  [0x180b, 0x180f], [0x200b, 0x200f], [0x2028, 0x202e], [0x2060, 0x206f], [0x3164, 0x3164], [0xfeff, 0xfeff],
  [0xffa0, 0xffa0], [0xfff0, 0xfffb], [0xe0000, 0xe0fff],
];

const isHidden = (code: number) => code !== 0x09 && code !== 0x0a && RANGES.some(([from, to]) => code >= from && code <= to);

/** A hidden character as something that is seen. */
function escaped(code: number): string {
  if (code === 0) return "\\0";
  if (code === 0x0d) return "\\r";
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}

const range = ([from, to]: readonly [number, number]) => `\\u{${from.toString(16)}}-\\u{${to.toString(16)}}`;
/** Most texts have none, which is found out at once; tabs and line breaks are seen. */
const ANY = new RegExp(`(?![\\t\\n])[${RANGES.map(range).join("")}]`, "u");

export const hasHidden = (text: string): boolean => ANY.test(text);

export type Piece = { text: string; hidden: boolean };

/** A text in pieces: as it is, and hidden characters as escapes. Most texts are one piece. */
export function pieces(text: string): Piece[] {
  if (!hasHidden(text)) return [{ text, hidden: false }];
  const found: Piece[] = [];
  let plain = "";
  for (const letter of text) {
    const code = letter.codePointAt(0) ?? 0;
    if (code < 0x7f ? code >= 0x20 || code === 0x09 || code === 0x0a : !isHidden(code)) {
      plain += letter;
      continue;
    }
    if (plain) found.push({ text: plain, hidden: false });
    plain = "";
    found.push({ text: escaped(code), hidden: true });
  }
  if (plain || found.length === 0) found.push({ text: plain, hidden: false });
  return found;
}

/** The same as one text. */
export const reveal = (text: string): string => pieces(text).map((piece) => piece.text).join("");
