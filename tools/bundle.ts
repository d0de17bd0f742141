// Makes a few files of the sources, so that a command starts in a tenth of the time it takes to load them one by one.
// Each command is a file of its own, so that one does not pay for the packages of another.
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { bundleWorker, lmdbAt } from "./bundle-plugins.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = process.argv[2];
if (!target) throw new Error("usage: bundle.ts FILE");
const folder = dirname(target);

const lmdbAtHome = lmdbAt((path) => relative(folder, path));

/**
 * To import one of Node's own modules is to ask for each of its exports, and some of them load much that nobody here uses: undici,
 * WebCrypto, readline. Who takes what is needed out of the module itself leaves the rest alone.
 */
const takeFromBuiltins = (text: string): string =>
  text.replaceAll(
    /^import (\* as \w+|\w+|\{[^}]*\}) from "([\w:/]+)";$/gm,
    (statement: string, names: string, name: string) => {
      if (!isBuiltin(name)) return statement;
      const module = `process.getBuiltinModule("${name}")`;
      const whole = /\bdefault as (\w+)/.exec(names)?.[1];
      const taken = names.replace(/\bdefault as \w+,?|\* as /, "").replaceAll(" as ", ": ");
      return `const ${taken} = ${module}${whole ? `, ${whole} = ${module}` : ""};`;
    },
  );

const options = {
  absWorkingDir: root,
  outdir: folder,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  splitting: true,
  platform: "node",
  target: "node24",
  format: "esm",
  banner: { js: 'const require = process.getBuiltinModule("module").createRequire(import.meta.url);' },
  sourcemap: "linked",
  sourcesContent: false, // a stack trace needs the lines, not the text, which Node would keep in memory
  write: false,
  logLevel: "warning",
} as const satisfies BuildOptions;

const worker = await bundleWorker(root, options);
const workerAtHome = worker.plugin;

// A cluster's process shares no files with other commands: what many share falls into many parts, and people wait for this one.
const cluster = await build({
  ...options,
  entryPoints: { "run-cluster": join(root, "src/cluster/commands/run-cluster.ts") },
  entryNames: "[name]-[hash]",
  plugins: [lmdbAtHome, workerAtHome],
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

/** What every command of kubectl needs, and what all but a few need besides: how to reach a server and to learn what it serves. */
const kubectlCore = ["src/kubectl/main.ts", "src/kubectl/process-io.ts", "src/kubectl/command.ts"];
const kubectlSession = [
  "src/kubectl/client-config.ts",
  "src/kubectl/discovery/cached-discovery.ts",
  "src/kubectl/discovery/rest-mapper.ts",
  "src/kubectl/tab-writer.ts",
];
const withoutSession = /\/(commands\/(version|options|completion)|plugins|connect)\.ts$/;

/**
 * Code that several files share is put into one file for each set of files that share it, and so falls into many small ones, each of which
 * takes half a millisecond to load. Where every file shares all that is common, it is one.
 */
const common = (entries: ReadonlySet<string>): Plugin => ({
  name: "common",
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      if (!entries.has(relative(root, path))) return undefined;
      const parts = withoutSession.test(path) ? kubectlCore : [...kubectlCore, ...kubectlSession];
      const imports = parts.map((part) => `import ${JSON.stringify(join(root, part))};`).join(" ");
      return { contents: `${imports} ${await readFile(path, "utf8")}`, loader: "ts" };
    });
  },
});
const kubectlOptions = {
  ...options,
  entryPoints: { kubectl: join(root, "src/cluster/kubectl-main.ts") },
  metafile: true,
} as const satisfies BuildOptions;
const { metafile } = await build({ ...kubectlOptions, plugins: [lmdbAtHome, workerAtHome, apart] });
/** With all that they import. */
function closure(paths: readonly string[], found = new Set<string>()): ReadonlySet<string> {
  for (const path of paths) {
    if (found.has(path)) continue;
    found.add(path);
    const { imports = [] } = metafile.inputs[path] ?? {};
    closure(
      imports.flatMap(({ kind, path: other }) => (kind === "import-statement" ? other : [])),
      found,
    );
  }
  return found;
}
const core = closure(["src/cluster/kubectl-main.ts", ...kubectlCore]);
const loadedLater = Object.values(metafile.outputs)
  .flatMap(({ entryPoint }) => entryPoint ?? [])
  .filter((path) => !core.has(path));
const kubectl = await build({
  ...kubectlOptions,
  plugins: [lmdbAtHome, workerAtHome, apart, common(new Set(loadedLater))],
});

const main = await build({
  ...options,
  entryPoints: { [basename(target, ".mjs")]: join(root, "src/main.ts") },
  plugins: [lmdbAtHome, workerAtHome, apart],
});
// The launcher looks at these alone: to look at every source takes it as long as a fifth of a command. A source that is new is imported by
// one that has changed.
const inputs = ["package-lock.json", "tools/bundle.ts", ...Object.keys(metafile.inputs)].filter(
  (path) => !path.startsWith("node_modules/"),
);
const inputList = {
  path: join(folder, "kubectl-inputs.sh"),
  contents: Buffer.from(`inputs='${inputs.join(" ")}'\n`),
  text: "",
};
const outputFiles = [inputList, ...[worker, cluster, kubectl, main].flatMap((built) => built.outputFiles)];

// The names of the parts contain hashes of their content, so parts of two bundles do not mix. The entries come last, and are renamed
// into place: a command started at the same time finds the old bundle or the new one.
const entries = [join(folder, "kubectl.mjs"), target];
await mkdir(folder, { recursive: true });
const before = await readdir(folder);
for (const { path, contents, text } of outputFiles.toSorted(
  (a, b) => entries.indexOf(a.path) - entries.indexOf(b.path),
)) {
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, path.endsWith(".mjs") ? takeFromBuiltins(text) : contents);
  await rename(draft, path);
}
const now = new Set(outputFiles.map(({ path }) => basename(path)));
// A server that runs may still have to start its thread.
for (const old of before)
  if (!now.has(old) && !old.startsWith("yaml-worker-")) await rm(join(folder, old), { force: true });
// What was compiled of the files before is of no more use.
await rm(join(dirname(folder), "knarr-compiled"), { recursive: true, force: true });
