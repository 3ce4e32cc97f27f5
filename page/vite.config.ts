import { defineConfig } from "vite";
import { licences } from "./licences";

// The server that `npm run dev` talks to: nearkin studio --port 8765 --no-browser
const server = process.env.NEARKIN_SERVER ?? "http://127.0.0.1:8765";

export default defineConfig({
  base: "./",
  // The build of regl without checks that are meant for those who write draw calls: smaller and quicker.
  resolve: { alias: { regl: "regl/dist/regl.unchecked.js" } },
  plugins: [licences("assets/licences.txt")],
  build: {
    outDir: "../src/nearkin/studio/server/page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  server: {
    proxy: {
      "/api": {
        target: server,
        ws: true,
        changeOrigin: true,
        // The server takes requests from its own page only, so we pass for it.
        headers: { origin: server },
      },
    },
  },
  test: { include: ["test/**/*.test.ts"] },
});
