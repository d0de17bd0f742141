import { ImageArchive } from "./archive.ts";
import type { NamedManifest } from "./image.ts";

/** Who runs containers, as far as images are concerned. */
export interface ImageRuntime {
  ctr(...args: readonly string[]): Promise<string>;
  load(archive: string): Promise<void>;
}

/**
 * Imports archives unless what they have is there already; where several have an image of the same name, the last counts. Returns
 * the names of images that came in.
 */
export async function importImages(
  runtime: ImageRuntime,
  archives: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const contents: { readonly path: string; readonly images: readonly NamedManifest[] }[] = [];
  for (const path of archives) {
    await using archive = await ImageArchive.open(path);
    contents.push({ path, images: await archive.images() });
  }
  const wanted = digestsOf(contents.flatMap(({ images }) => images));
  const present = new Map(presentImages(await runtime.ctr("images", "list")));
  const imported = new Set<string>();
  for (const { path, images } of contents) {
    signal.throwIfAborted();
    const lacking = images.filter(
      ({ reference, digest }) => wanted.get(reference) === digest && present.get(reference) !== digest,
    );
    if (lacking.length === 0) continue;
    await runtime.load(path);
    for (const { reference, digest } of images) present.set(reference, digest);
    for (const { reference } of lacking) imported.add(reference);
  }
  return [...imported];
}

const digestsOf = (images: readonly NamedManifest[]): ReadonlyMap<string, string> =>
  new Map(images.map(({ reference, digest }) => [reference, digest]));

/** From the table that `ctr images list` prints: names and digests. */
export const presentImages = (table: string): ReadonlyMap<string, string> =>
  new Map(
    table
      .split("\n")
      .slice(1)
      .map((row) => row.split(/\s+/))
      .map(([reference = "", , digest = ""]) => [reference, digest] as const),
  );
