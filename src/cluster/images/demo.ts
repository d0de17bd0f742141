// Images to try a cluster with on a machine that reaches no registry, made of what the machine has installed, or of Debian's packages:
// knarr.local/busybox:1.0, knarr.local/nginx:1.0 and :1.1 (which serve different pages), and :latest of both.
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { turn } from "#base/breathe.ts";
import { explain } from "#base/errors.ts";
import { parseJson } from "#schema/json.ts";
import { busyboxLayer } from "./busybox.ts";
import { fetchPackages } from "./fetch-packages.ts";
import { type ImageSpec, imageArchive } from "./image.ts";
import { nginxFiles, nginxPage, nginxStart } from "./nginx.ts";
import { entriesOf, SystemFiles, withFolders } from "./system-files.ts";

export interface DemoImages {
  /** Archives of images, with the names of what is in each. */
  readonly archives: readonly { readonly references: readonly string[]; readonly archive: string }[];
  /** A sentence for each image that could not be made. */
  readonly missing: readonly string[];
}

export interface DemoOptions {
  /** Where they are kept; may be shared by clusters. */
  readonly cacheFolder: string;
}

/** Counts up when something below changes what images are made of. */
export const recipe = 2;

/** Makes the images, or finds them made; only what they are made of is looked at then. */
export async function demoImages({ cacheFolder }: DemoOptions, signal: AbortSignal): Promise<DemoImages> {
  const known = readCache(cacheFolder);
  if (known) return { archives: [known], missing: [] };
  const { specs, inputs, missing } = await assemble(cacheFolder, signal);
  if (specs.length === 0) return { archives: [], missing };
  await turn();
  const archive = join(cacheFolder, "demo.tar");
  mkdirSync(cacheFolder, { recursive: true, mode: 0o700 });
  replaceFile(archive, imageArchive(specs));
  const references = specs.flatMap((spec) => spec.references);
  if (missing.length === 0)
    replaceFile(cachePath(cacheFolder), JSON.stringify({ recipe, references, inputs: inputs.map(stamp) }));
  return { archives: [{ references, archive }], missing };
}

interface ImageContent {
  readonly specs: readonly ImageSpec[];
  /** Where the files were. */
  readonly inputs: readonly string[];
  readonly missing: readonly string[];
}

const busyboxPaths = ["/bin/busybox", "/usr/bin/busybox"];
const nginxPaths = ["/usr/sbin/nginx", "/usr/bin/nginx"];
const mimeTypes = "/etc/nginx/mime.types";

async function assemble(cacheFolder: string, signal: AbortSignal): Promise<ImageContent> {
  const files = await filesWith(cacheFolder, signal);
  const busybox = files.system.program(...busyboxPaths);
  if (!busybox)
    return { specs: [], inputs: [], missing: [lack("busybox", files.problem), lack("nginx", files.problem)] };
  const base = await busyboxLayer(busybox);
  const specs: ImageSpec[] = [
    { references: ["knarr.local/busybox:1.0", "knarr.local/busybox:latest"], layers: [base], command: ["sh"] },
  ];
  await turn();
  const nginx = files.system.program(...nginxPaths);
  const types = files.system.find(mimeTypes);
  if (!nginx || !types) return { specs, inputs: [], missing: [lack("nginx", files.problem)] };
  const present = new Set(busybox.map(({ path }) => path));
  const own = entriesOf([...nginx.filter(({ path }) => !present.has(path)), types]);
  const program = withFolders([...own, ...nginxFiles]);
  const nginxOf = (version: string, references: readonly string[]): ImageSpec => ({
    references,
    layers: [base, program, nginxPage(version)],
    entrypoint: [nginxStart],
    command: ["nginx", "-g", "daemon off;"],
    ports: ["80/tcp"],
    stopSignal: "SIGQUIT",
  });
  specs.push(nginxOf("1.0", ["knarr.local/nginx:1.0"]));
  specs.push(nginxOf("1.1", ["knarr.local/nginx:1.1", "knarr.local/nginx:latest"]));
  return { specs, inputs: [...busybox, ...nginx, types].map(({ source }) => source), missing: [] };
}

/** Of this machine, if it has both programs; else with packages that were fetched. */
async function filesWith(
  cacheFolder: string,
  signal: AbortSignal,
): Promise<{ readonly system: SystemFiles; readonly problem?: string }> {
  const own = new SystemFiles(["/"]);
  if (own.program(...busyboxPaths) && own.program(...nginxPaths) && own.find(mimeTypes)) return { system: own };
  const fetched = join(cacheFolder, "packages");
  try {
    await fetchPackages(["busybox", "nginx"], fetched, signal);
    return { system: new SystemFiles([fetched, "/"]) };
  } catch (error) {
    signal.throwIfAborted();
    return { system: own, problem: explain(error).trim().split("\n").at(-1) ?? "" };
  }
}

const lack = (program: "busybox" | "nginx", problem = "the package has no such program"): string =>
  `there is no image knarr.local/${program}: ${program} (linked dynamically) is not installed here, and could not be fetched (${problem}); install it and start the cluster again, or bring an image with "knarr load"`;

const cachePath = (folder: string): string => join(folder, "demo.json");

/** A file as it was when it was read. */
const stamp = (path: string) => {
  const { size, mtimeMs } = statSync(path);
  return { path, size, mtimeMs };
};

function readCache(folder: string): DemoImages["archives"][number] | undefined {
  const archive = join(folder, "demo.tar");
  if (!existsSync(cachePath(folder)) || !existsSync(archive)) return undefined;
  const cache = parseJson(readFileSync(cachePath(folder), "utf8")).value as {
    readonly recipe: number;
    readonly references: readonly string[];
    readonly inputs: readonly ReturnType<typeof stamp>[];
  }; // we wrote it
  if (cache.recipe !== recipe) return undefined;
  const isSame = ({ path, size, mtimeMs }: ReturnType<typeof stamp>) => {
    const now = statSync(path, { throwIfNoEntry: false });
    return now?.size === size && now.mtimeMs === mtimeMs;
  };
  return cache.inputs.every(isSame) ? { references: cache.references, archive } : undefined;
}

/** Whoever reads it sees the old one or the new one, whole. */
function replaceFile(path: string, content: string | Uint8Array): void {
  const fresh = `${path}.${process.pid}`;
  writeFileSync(fresh, content, { mode: 0o600 });
  renameSync(fresh, path);
}
