// What bundles of the sources have to know of files that cannot be taken in: the compiled part of lmdb, and what runs in a thread of its own.
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";

/** lmdb looks for its compiled part beside its own files, and is to find it there though they are taken in: `at` says where they are, from the bundle. */
export const lmdbAt = (at: (path: string) => string): Plugin => ({
  name: "lmdb-at-home",
  setup({ onLoad }) {
    onLoad({ filter: /\/node_modules\/lmdb\/[\w-]+\.js$/ }, async ({ path }) => {
      const home = `new URL(${JSON.stringify(at(path))}, import.meta.url).href`;
      return { contents: (await readFile(path, "utf8")).replaceAll("import.meta.url", home), loader: "js" };
    });
  },
});

/** What runs in a thread is a file of its own. Its name is known only when it is made, and those who start it learn it from the plugin. */
export async function bundleWorker(root: string, options: BuildOptions & { readonly write: false }) {
  const worker = await build({
    ...options,
    entryPoints: { "yaml-worker": join(root, "src/wire/host/yaml-worker.ts") },
    entryNames: "[name]-[hash]",
  });
  const file = basename(worker.outputFiles.find(({ path }) => path.endsWith(".mjs"))?.path ?? "");
  const plugin: Plugin = {
    name: "worker-at-home",
    setup({ onLoad }) {
      onLoad({ filter: /\/wire\/host\/yaml-thread\.ts$/ }, async ({ path }) => ({
        contents: (await readFile(path, "utf8")).replace("./yaml-worker.ts", `./${file}`),
        loader: "ts",
      }));
    },
  };
  return { plugin, outputFiles: worker.outputFiles };
}
