// SPDX-License-Identifier: MIT
// Builds the one bundle of both pages: app.js and app.css, which the program carries inside itself.
import { defineConfig } from "vite";

export default defineConfig({
  // A library build leaves this to its user, and the page has no `process`.
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
  publicDir: false,
  build: {
    outDir: process.env["TANDEM_WEB_OUT"] ?? "dist",
    emptyOutDir: true,
    target: "es2021",
    minify: "esbuild",
    sourcemap: false,
    reportCompressedSize: false,
    lib: {
      entry: "src/main.tsx",
      name: "tandem",
      formats: ["iife"],
      fileName: () => "app.js",
      cssFileName: "app",
    },
  },
});
