// A plan as people read it. Text becomes text nodes only; links are not followed.
import { useMemo } from "react";
import { type Block, inline, markdown } from "../markdown";
import { Diagram } from "./Diagram";
import { Marked, Words } from "./bits";

const flat = (text: ReturnType<typeof inline>) =>
  text.map((part) => (part.kind === "code" ? `\`${part.text}\`` : part.kind === "strong" ? `**${part.text}**` : part.kind === "em" ? `*${part.text}*` : part.text)).join("");

export function Markdown({ text, drawings = [], title }: { text: string; drawings?: string[]; title?: string }) {
  // A heading that only says the title again is left out.
  const blocks = useMemo(() => markdown(text).filter((block, at) => at > 0 || block.kind !== "heading" || flat(block.text) !== title), [text, title]);
  let drawn = 0;
  return (
    <div className="prose">
      {blocks.map((block, at) => {
        const drawing = block.kind === "code" && block.language === "mermaid" ? drawings[drawn++] : undefined;
        return <Part key={at} block={block} drawing={drawing} />;
      })}
    </div>
  );
}

function Part({ block, drawing }: { block: Block; drawing: string | undefined }) {
  switch (block.kind) {
    case "heading": {
      const Tag = block.level <= 1 ? "h3" : block.level === 2 ? "h4" : "h5";
      return <Tag><Words text={flat(block.text)} /></Tag>;
    }
    case "paragraph":
      return <p><Words text={flat(block.text)} /></p>;
    case "quote":
      return <blockquote><Words text={flat(block.text)} /></blockquote>;
    case "rule":
      return <hr />;
    case "code":
      if (block.language === "mermaid") return <Diagram source={block.info.toLowerCase() === "mermaid" ? block.text : `${block.text}\n%% ${block.info}`} drawing={drawing} />;
      // The language alone says nothing; whatever else stands beside it is text.
      return <pre tabIndex={0}>{/[^\w+#.-]|^.{20}/.test(block.info) && <span className="quiet">{`${block.info}\n`}</span>}<Marked text={block.text} /></pre>;
    case "table":
      return (
        <table>
          <tbody>
            {block.rows.map((row, at) => (
              <tr key={at}>{row.map((cell, col) => (at === 0 ? <th key={col}><Words text={flat(cell)} /></th> : <td key={col}><Words text={flat(cell)} /></td>))}</tr>
            ))}
          </tbody>
        </table>
      );
    case "list": {
      const Tag = block.ordered ? "ol" : "ul";
      return (
        <Tag>
          {block.items.map((item, at) => (
            <li key={at} className={`depth-${Math.min(3, item.depth)}`}>
              {item.done !== undefined && <span aria-label={item.done ? "done" : "open"}>{item.done ? "☑ " : "☐ "}</span>}
              <Words text={flat(item.text)} />
            </li>
          ))}
        </Tag>
      );
    }
  }
}
