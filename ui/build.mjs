// Bundles the explorer into one ES module, which the package serves. The same sources give the same bytes.
import { build } from "esbuild";

await build({
  entryPoints: ["src/main.tsx"],
  outfile: process.argv[2] ?? "../src/whence/ui/static/explorer.js",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".css": "text" },
  charset: "ascii",
  legalComments: "none",
  logLevel: "warning",
});
