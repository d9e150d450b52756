// Puts the board behind a port.

import { createServer } from "node:http";
import { createBoard, handle } from "./app.js";

const board = createBoard([
  { id: 1, author: "ada", text: "Buy milk" },
  { id: 2, author: "grace", text: "Fix the moth in relay 70" },
]);

const server = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  const answer = await handle(board, { method: request.method, url: request.url, body });
  response.writeHead(answer.status, { "content-type": answer.type });
  response.end(answer.body);
});

const port = Number(process.env.PORT ?? 3000);
server.listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}`));
