// Makes the image of an add-on or of the control plane, unless it was made of the same sources before, and says what it is.
// Usage: tools/addon-image.ts CACHE-FOLDER IMAGE [later]
import { readdirSync, readFileSync } from "node:fs";
import { setPriority } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildOptions } from "esbuild";
import { type AddonImage, bundleName, cachedImage, inputsOf, makeImage } from "#cluster/addons/addon-images.ts";
import { addonImages } from "#cluster/addons/image-list.ts";
import type { TarEntry } from "#cluster/images/tar.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [folder, name, when] = process.argv.slice(2);
const image = addonImages.find((one) => one.name === name);
if (!folder || !image)
  throw new Error(`usage: addon-image.ts CACHE-FOLDER ${addonImages.map((one) => one.name).join("|")} [later]`);
// Whoever starts a cluster does not wait for its add-ons.
if (when === "later") setPriority(19);
const sources = join(root, "src");
const inputs = inputsOf(sources, image);
const { reference } =
  cachedImage(folder, image.name, inputs) ??
  (await makeImage(folder, image, { bundle: await bundleOf(image), inputs }, AbortSignal.timeout(300_000)));
process.stdout.write(`${reference}\n`);

/** Files that run the programs of an image. */
async function bundleOf({ bundled }: AddonImage): Promise<readonly TarEntry[]> {
  const programs = Object.entries(bundled);
  if (programs.length === 0) return [];
  const [{ build }, { bundleWorker, lmdbAt }] = await Promise.all([import("esbuild"), import("./bundle-plugins.ts")]);
  const options = {
    absWorkingDir: root,
    outdir: root, // nothing is written
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    target: "node24",
    format: "esm",
    minifySyntax: true,
    minifyWhitespace: true,
    banner: { js: 'const require = process.getBuiltinModule("module").createRequire(import.meta.url);' },
    write: false,
    logLevel: "warning",
  } as const satisfies BuildOptions;
  const worker = await bundleWorker(root, options);
  const load = ({ source, command }: (typeof bundled)[string]) =>
    `async () => (await import(${JSON.stringify(join(sources, source))})).${command}`;
  const contents = [
    `import { runBundled } from ${JSON.stringify(join(sources, "cluster/addons/run-bundled.ts"))};`,
    `const programs = { ${programs.map(([key, program]) => `${JSON.stringify(key)}: ${load(program)}`).join(", ")} };`,
    "const [, , name, ...args] = process.argv;",
    "process.exitCode = await runBundled(name, programs[name], args);",
  ].join("\n");
  const { outputFiles, metafile } = await build({
    ...options,
    stdin: { contents, resolveDir: root, loader: "ts", sourcefile: bundleName },
    entryNames: basename(bundleName, ".mjs"),
    metafile: true,
    plugins: [worker.plugin, lmdbAt((path) => path.slice(path.lastIndexOf("node_modules/")))],
  });
  const files = [...outputFiles, ...worker.outputFiles].map(({ path, contents: content }) => ({
    name: basename(path),
    content,
  }));
  const hasStore = Object.keys(metafile.inputs).some((path) => /node_modules\/lmdb\//.test(path));
  return hasStore ? [...files, ...compiledStore()] : files;
}

/** The compiled part of lmdb, and by what it is found. */
function compiledStore(): readonly TarEntry[] {
  const compiled = `node_modules/@lmdb/lmdb-${process.platform}-${process.arch}`;
  const isWanted = (file: string) => /^(package\.json|index\.js|.*napi.*glibc\.node)$/.test(file);
  const paths = [
    "node_modules/lmdb/package.json",
    ...readdirSync(join(root, compiled))
      .filter(isWanted)
      .map((file) => `${compiled}/${file}`),
  ];
  return paths.map((path) => ({ name: path, content: readFileSync(join(root, path)) }));
}
