// Makes the image of an add-on, unless it was made of the same sources before, and says what it is.
// Usage: tools/addon-image.ts CACHE-FOLDER IMAGE
import { setPriority } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cachedImage, inputsOf, makeImage } from "#cluster/addons/addon-images.ts";
import { addonImages } from "#cluster/addons/image-list.ts";

// Whoever starts a cluster does not wait for this.
setPriority(19);
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [folder, name] = process.argv.slice(2);
const image = addonImages.find((one) => one.name === name);
if (!folder || !image)
  throw new Error(`usage: addon-image.ts CACHE-FOLDER ${addonImages.map((one) => one.name).join("|")}`);
const sources = join(root, "src");
const inputs = inputsOf(sources, image);
const { reference } =
  cachedImage(folder, image.name, inputs) ??
  (await makeImage(
    folder,
    image,
    { bundle: await bundled(join(sources, image.source), image.command), inputs },
    AbortSignal.timeout(300_000),
  ));
process.stdout.write(`${reference}\n`);

/** One file that runs the command. */
async function bundled(source: string, command: string): Promise<Uint8Array> {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    stdin: {
      contents: `import { ${command} } from ${JSON.stringify(source)};\nawait ${command}.run(process.argv.slice(2));\n`,
      resolveDir: root,
      loader: "ts",
    },
    bundle: true,
    platform: "node",
    target: "node24",
    format: "esm",
    minifySyntax: true,
    minifyWhitespace: true,
    banner: { js: 'const require = process.getBuiltinModule("module").createRequire(import.meta.url);' },
    write: false,
    logLevel: "warning",
  });
  const [file] = outputFiles;
  if (!file) throw new Error(`${source} was bundled into nothing`);
  return file.contents;
}
