// The board: keeps notes in memory and answers requests. Knows nothing of ports.

export function createBoard(notes = []) {
  return { notes: [...notes] };
}

export function addNote(board, { author, text }) {
  if (typeof text !== "string" || text.trim() === "") {
    throw new RangeError("a note needs a text");
  }
  const note = { id: board.notes.length + 1, author: author ?? "anonymous", text: text.trim() };
  board.notes.push(note);
  return note;
}

export function listNotes(board) {
  return [...board.notes].reverse();
}

export async function handle(board, { method, url, body }) {
  const { pathname } = new URL(url, "http://board");
  if (pathname === "/" && method === "GET") {
    return { status: 200, type: "text/html", body: page(listNotes(board)) };
  }
  if (pathname === "/notes" && method === "GET") {
    return json(200, listNotes(board));
  }
  if (pathname === "/notes" && method === "POST") {
    try {
      return json(201, addNote(board, JSON.parse(body)));
    } catch (error) {
      return json(400, { error: error.message });
    }
  }
  return json(404, { error: "no such page" });
}

function json(status, value) {
  return { status, type: "application/json", body: JSON.stringify(value) };
}

function page(notes) {
  const items = notes.map((note) => `<li><b>${escape(note.author)}</b> ${escape(note.text)}</li>`);
  return `<!doctype html><title>Pinboard</title><h1>Pinboard</h1><ul>${items.join("")}</ul>`;
}

function escape(text) {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
