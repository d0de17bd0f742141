// The images of the add-ons and of the control plane: a base with the Node runtime that all share, the programs of each bundled from the
// sources, and what they need of Debian's packages. Making one reads a runtime of a hundred megabytes, so it is done in a process of
// its own (tools/addon-image.ts).
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseJson } from "#schema/json.ts";
import { fetchPackages } from "../images/fetch-packages.ts";
import { type ImageSpec, imageArchive, usualPath } from "../images/image.ts";
import { registryHost } from "../images/registry.ts";
import { entriesOf, SystemFiles, withFolders } from "../images/system-files.ts";
import type { TarEntry } from "../images/tar.ts";

/** A program that is bundled from the sources. */
export interface BundledProgram {
  /** The source whose export is the command that it runs. */
  readonly source: string;
  readonly command: string;
}

/** What an image is made of. */
export interface AddonImage {
  readonly name: string;
  /** By the name that each has in the image; the first runs where nobody says otherwise. */
  readonly bundled: Readonly<Record<string, BundledProgram>>;
  readonly ports?: readonly string[];
  /** Programs of Debian's packages, by the package that has each. */
  readonly programs?: Readonly<Record<string, string>>;
  /** Folders that the programs expect. */
  readonly folders?: readonly string[];
}

export interface AddonArchive {
  readonly reference: string;
  readonly archive: string;
}

const programFolder = "/usr/local/bin";
const nodePath = `${programFolder}/node`;
const bundlePath = "/usr/local/lib/knarr";
/** The file of a bundle that is run; it is given the name of the program first. */
export const bundleName = "main.mjs";
/** As the launcher of knarr has it. */
const nodeOptions = "--max-semi-space-size=16";
/** Counts up when something below changes what images are made of. */
const recipe = 3;

/** What is known of an image that was made. */
interface ImageNote {
  readonly reference: string;
  readonly inputs: string;
}

export const archivePath = (folder: string, name: string): string => join(folder, `addon-${name}.tar`);
const notePath = (folder: string, name: string): string => join(folder, `addon-${name}.json`);

/** All that there are, for the registry of the nodes. */
export const addonArchives = (folder: string): readonly string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => /^addon-[\w-]+\.tar$/.test(name))
        .map((name) => join(folder, name))
    : [];

/** The image, if it was made of the very same inputs. */
export function cachedImage(folder: string, name: string, inputs: string): AddonArchive | undefined {
  const archive = archivePath(folder, name);
  if (!existsSync(notePath(folder, name)) || !existsSync(archive)) return undefined;
  const note = parseJson(readFileSync(notePath(folder, name), "utf8")).value as ImageNote; // we wrote it
  return note.inputs === inputs ? { reference: note.reference, archive } : undefined;
}

/** What an image depends on, in a word: the runtime, the newest of the sources, and the recipe. */
export function inputsOf(sources: string, image: AddonImage): string {
  const { size, mtimeMs } = statSync(process.execPath);
  let newest = 0;
  let count = 0;
  for (const entry of readdirSync(sources, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && entry.name.endsWith(".ts")) {
      newest = Math.max(newest, statSync(join(entry.parentPath, entry.name)).mtimeMs);
      count++;
    }
  return JSON.stringify([recipe, process.execPath, size, mtimeMs, newest, count, image]);
}

/** Makes an image with the files of a bundle, and keeps its archive in the folder. */
export async function makeImage(
  folder: string,
  image: AddonImage,
  { bundle, inputs }: { readonly bundle: readonly TarEntry[]; readonly inputs: string },
  signal: AbortSignal,
): Promise<AddonArchive> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const names = Object.keys(image.bundled);
  const bundled = names.length === 0 ? [] : [baseLayer(), programLayer(names, bundle)];
  const packages = await packageLayer(folder, image, signal);
  const layers = [...bundled.slice(0, 1), ...packages, ...bundled.slice(1)];
  const reference = referenceOf(image, names.length > 0 ? bundle : packages.flat());
  const spec: ImageSpec = {
    references: [reference],
    layers,
    ...(names[0] !== undefined && { entrypoint: [`${programFolder}/${names[0]}`] }),
    env: [usualPath, `NODE_OPTIONS=${nodeOptions}`],
    ...(image.ports && { ports: image.ports }),
    workdir: "/",
  };
  const archive = archivePath(folder, image.name);
  replace(archive, imageArchive([spec]));
  replace(notePath(folder, image.name), JSON.stringify({ reference, inputs } satisfies ImageNote));
  return { reference, archive };
}

/**
 * The name of an image. It is the same on all machines that have the same sources and the same version of Node, so that each can make what
 * another one's control plane has deployed: no times of files, and no packages beside programs of ours.
 */
function referenceOf(image: AddonImage, files: readonly TarEntry[]): string {
  const hash = createHash("sha256").update(JSON.stringify([recipe, process.version, process.arch, image]));
  for (const { name, content } of files) hash.update(name).update(content ?? "");
  return `${registryHost}/${image.name}:${hash.digest("hex").slice(0, 12)}`;
}

/** The runtime that runs this, with its libraries, as every image has it. */
function baseLayer(): readonly TarEntry[] {
  const files = new SystemFiles(["/"]).program(process.execPath);
  if (!files) throw new Error(`${process.execPath} is no program that is linked dynamically`);
  const own = files.map((file) => (file.path === process.execPath ? { ...file, path: nodePath } : file));
  return withFolders([...entriesOf(own), { name: "tmp/", mode: 0o1777 }]);
}

async function packageLayer(
  folder: string,
  { name, programs = {}, folders = [] }: AddonImage,
  signal: AbortSignal,
): Promise<readonly (readonly TarEntry[])[]> {
  const packages = Object.keys(programs);
  if (packages.length === 0) return [];
  const own = new SystemFiles(["/"]);
  const paths = Object.values(programs);
  const isHere = paths.every((path) => own.find(path));
  const fetched = join(folder, `packages-${name}`);
  if (!isHere) await fetchPackages(packages, fetched, signal);
  const system = isHere ? own : new SystemFiles([fetched, "/"]);
  const files = paths.flatMap((path) => {
    const found = system.program(path);
    if (!found) throw new Error(`${path} is in none of the packages ${packages.join(", ")}`);
    return found;
  });
  return [withFolders([...entriesOf(files), ...folders.map((path) => ({ name: `${path.slice(1)}/`, mode: 0o1777 }))])];
}

/** Each program is a file that a kernel runs without a shell, since the image has none. */
const programLayer = (names: readonly string[], bundle: readonly TarEntry[]): readonly TarEntry[] =>
  withFolders([
    ...bundle.map((file) => ({ ...file, name: `${bundlePath.slice(1)}/${file.name}`, mode: 0o644 })),
    ...names.map((name) => ({
      name: `${programFolder.slice(1)}/${name}`,
      mode: 0o755,
      content: Buffer.from(
        `#!${nodePath}\nprocess.argv.splice(2, 0, ${JSON.stringify(name)});\nimport("${bundlePath}/${bundleName}");\n`,
      ),
    })),
  ]);

/** Whoever reads it sees the old one or the new one, whole. */
function replace(path: string, content: string | Uint8Array): void {
  const fresh = `${path}.${process.pid}`;
  try {
    writeFileSync(fresh, content, { mode: 0o600 });
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}
