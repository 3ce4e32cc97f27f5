import { defineConfig } from "vite";

// The server that `npm run dev` talks to: nearkin studio --port 8765 --no-browser
const server = process.env.NEARKIN_SERVER ?? "http://127.0.0.1:8765";

export default defineConfig({
  base: "./",
  build: {
    outDir: "../src/nearkin/web/page",
    emptyOutDir: true,
    target: "es2022",
    license: { fileName: "assets/licences.md" },
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  server: {
    proxy: { "/api": { target: server, ws: true, changeOrigin: true } },
  },
  test: { include: ["test/**/*.test.ts"] },
});
