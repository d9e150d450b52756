// What a tool call changes in files, told from what it was called with. Pure.
export type Edit = { path: string; before: string; after: string };

/** The edits of a call; none where it does not edit. Field names of our own tools and of agent programs we know. */
export function editsOf(tool: string, input: string): Edit[] {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(input) as Record<string, unknown>;
  } catch {
    return [];
  }
  if (!fields || typeof fields !== "object") return [];
  const path = text(fields, "path", "file_path", "filePath");
  const list = Array.isArray(fields["edits"]) ? (fields["edits"] as Record<string, unknown>[]) : [fields];
  const changed = list.flatMap((one) => {
    const before = text(one, "old_text", "old_string", "oldString");
    const after = text(one, "new_text", "new_string", "newString");
    const at = text(one, "path", "file_path", "filePath") ?? path;
    return before !== undefined && after !== undefined && at ? [{ path: at, before, after }] : [];
  });
  if (changed.length > 0) return changed;
  const content = text(fields, "content");
  return /^write/i.test(tool) && path && content !== undefined ? [{ path, before: "", after: content }] : [];
}

function text(fields: Record<string, unknown>, ...names: string[]): string | undefined {
  for (const name of names) if (typeof fields[name] === "string") return fields[name];
  return undefined;
}
