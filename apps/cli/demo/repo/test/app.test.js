import test from "node:test";
import assert from "node:assert/strict";
import { createBoard, handle } from "../src/app.js";

const notes = [
  { id: 1, author: "ada", text: "Buy milk" },
  { id: 2, author: "grace", text: "Fix the moth" },
];

const get = (url) => handle(createBoard(notes), { method: "GET", url, body: "" });

test("notes come newest first", async () => {
  const answer = await get("/notes");
  assert.equal(answer.status, 200);
  assert.deepEqual(JSON.parse(answer.body).map((note) => note.id), [2, 1]);
});

test("a note without text is refused", async () => {
  const board = createBoard();
  const answer = await handle(board, { method: "POST", url: "/notes", body: '{"text": " "}' });
  assert.equal(answer.status, 400);
  assert.equal(board.notes.length, 0);
});

test("the page cannot be scripted by a note", async () => {
  const board = createBoard([{ id: 1, author: "eve", text: "<script>" }]);
  const answer = await handle(board, { method: "GET", url: "/", body: "" });
  assert.ok(!answer.body.includes("<script>"));
});

test("an unknown page is a 404", async () => {
  assert.equal((await get("/nowhere")).status, 404);
});
