import { ImageArchive } from "./archive.ts";

/** Who runs containers, as far as images are concerned. */
export interface ImageRuntime {
  ctr(...args: readonly string[]): Promise<string>;
  load(archive: string): Promise<void>;
}

/** Imports archives unless all that is in them is there already. Returns the names of images that came in. */
export async function importImages(
  runtime: ImageRuntime,
  archives: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const present = presentImages(await runtime.ctr("images", "list"));
  const imported: string[] = [];
  for (const path of archives) {
    signal.throwIfAborted();
    await using archive = await ImageArchive.open(path);
    const fresh = (await archive.images()).filter(({ reference, digest }) => present.get(reference) !== digest);
    if (fresh.length === 0) continue;
    await runtime.load(path);
    imported.push(...fresh.map(({ reference }) => reference));
  }
  return imported;
}

/** From the table that `ctr images list` prints: names and digests. */
export const presentImages = (table: string): ReadonlyMap<string, string> =>
  new Map(
    table
      .split("\n")
      .slice(1)
      .map((row) => row.split(/\s+/))
      .map(([reference = "", , digest = ""]) => [reference, digest] as const),
  );
