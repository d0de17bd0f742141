// Makes a few files of the sources, so that a command starts in a tenth of the time it takes to load them one by one.
// Each command is a file of its own, so that one does not pay for the packages of another.
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = process.argv[2];
if (!target) throw new Error("usage: bundle.ts FILE");
const folder = dirname(target);

/** To import node:http as a module is to ask for each of its exports, and with one of them Node loads undici: 20 ms for nothing. */
const lazyHttp: Plugin = {
  name: "lazy-http",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(?:node:)?http$/ }, ({ path }) => ({ path, namespace: "lazy-http" }));
    onLoad({ filter: /.*/, namespace: "lazy-http" }, () => ({
      contents: 'module.exports = process.getBuiltinModule("node:http");',
      loader: "js",
    }));
  },
};

const options = {
  outdir: folder,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  splitting: true,
  platform: "node",
  target: "node24",
  format: "esm",
  // These bring files of their own that they look for beside them. All others are taken in: to find and read a hundred small files
  // takes longer than to compile what is in them.
  external: ["lmdb", "@grpc/grpc-js"],
  banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  sourcemap: "linked",
  sourcesContent: false, // a stack trace needs the lines, not the text, which Node would keep in memory
  write: false,
  logLevel: "warning",
} as const satisfies BuildOptions;

// A cluster's process shares no files with other commands: what many share falls into many parts, and people wait for this one.
const cluster = await build({
  ...options,
  entryPoints: { "run-cluster": join(root, "src/cluster/commands/run-cluster.ts") },
  entryNames: "[name]-[hash]",
  plugins: [lazyHttp],
});
const clusterFile = cluster.outputFiles.find(({ path }) => /\/run-cluster-[^/]*\.mjs$/.test(path))?.path ?? "";
const apart: Plugin = {
  name: "apart",
  setup({ onResolve }) {
    onResolve({ filter: /\/commands\/run-cluster\.ts$/ }, () => ({
      path: `./${basename(clusterFile)}`,
      external: true,
    }));
  },
};
const main = await build({
  ...options,
  entryPoints: { [basename(target, ".mjs")]: join(root, "src/main.ts") },
  plugins: [lazyHttp, apart],
});
const outputFiles = [...cluster.outputFiles, ...main.outputFiles];

// The names of the parts contain hashes of their content, so parts of two bundles do not mix. The entry comes last, and is renamed
// into place: a command started at the same time finds the old bundle or the new one.
await mkdir(folder, { recursive: true });
const before = await readdir(folder);
for (const { path, contents } of outputFiles.toSorted(
  (a, b) => Number(a.path === target) - Number(b.path === target),
)) {
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, contents);
  await rename(draft, path);
}
const now = new Set(outputFiles.map(({ path }) => basename(path)));
for (const old of before) if (!now.has(old)) await rm(join(folder, old), { force: true });
// What was compiled of the files before is of no more use.
await rm(join(dirname(folder), "knarr-compiled"), { recursive: true, force: true });
