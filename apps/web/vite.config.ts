import react from "@vitejs/plugin-react";
import { defineConfig, type ProxyOptions } from "vite";
import { server } from "./server.mjs";

/** Passes `/api` on to a running server as its owner, so that the page can be developed outside of it. */
function proxy(): Record<string, ProxyOptions> {
  if (!process.env["HOLDPOINT_HOME"]) return {};
  const { url, token } = server();
  const headers = { authorization: `Bearer ${token}`, origin: url };
  return { "/api": { target: url, changeOrigin: true, ws: true, headers } };
}

// The server's policy is tried out here too: what it forbids must not work in development either.
const policy = {
  "content-security-policy":
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
};

export default defineConfig({
  // Elements are made by `src/jsx`, which marks hidden characters in every text.
  plugins: [react({ jsxImportSource: "#jsx" })],
  // Data addresses and inline styles are refused by the server's policy.
  build: { assetsInlineLimit: 0, cssCodeSplit: false, target: "es2022", reportCompressedSize: true },
  server: { port: 5173, proxy: proxy() },
  preview: { port: 4180, proxy: proxy(), headers: policy },
});
