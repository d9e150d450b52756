// A line between the conformance suite, which cannot send a token, and `holdpoint mcp --http`, which wants one.
// Everything passes as it is, but for the token, and for the proxy's own name where it stands for the server's.
// Usage: node mcp-proxy.mjs http://127.0.0.1:PORT TOKEN_FILE; prints its own address.
import http from 'node:http';
import fs from 'node:fs';

const target = new URL(process.argv[2]);
const token = fs.readFileSync(process.argv[3], 'utf8').trim();

const server = http.createServer((request, response) => {
  const port = server.address().port;
  const theirs = (text) => text?.replace(new RegExp(`^((http://)?(127\\.0\\.0\\.1|localhost)):${port}$`), `$1:${target.port}`);
  const headers = { ...request.headers, authorization: `Bearer ${token}`, host: theirs(request.headers.host) };
  if (headers.origin) headers.origin = theirs(headers.origin);
  const { method, url: path } = request;
  const passed = http.request({ host: '127.0.0.1', port: target.port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  passed.on('error', () => response.destroy());
  response.on('close', () => passed.destroy());
  request.pipe(passed);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
