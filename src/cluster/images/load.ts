import { rmSync } from "node:fs";
import { inBatches } from "#base/collections.ts";
import { adoptArchive } from "./adopt.ts";
import { ImageArchive } from "./archive.ts";
import type { ImageRuntime } from "./import.ts";
import type { KeptImages } from "./kept-images.ts";
import { plainArchive } from "./plain-archive.ts";

/** A node that images are brought to. */
export interface ImageNode {
  readonly name: string;
  readonly runtime: ImageRuntime;
}

export interface LoadOptions {
  readonly kept: KeptImages;
  /** Those that can take images now. */
  readonly nodes: readonly ImageNode[];
  /** Whether nodes that start later get them as well. */
  readonly keep: boolean;
  readonly progress: (doneBytes: number, totalBytes: number) => void;
}

const atOnce = 2;

/** Brings an archive, a file or `-`, to nodes. Returns the full names of its images. */
export async function loadArchive(
  input: string,
  options: LoadOptions,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { kept, nodes, keep, progress } = options;
  const adopted = kept.scratch("adopted");
  await using plain = await plainArchive(input, kept.scratch("plain"), signal);
  await using source = await ImageArchive.open(plain.path);
  const images = await adoptArchive(source, adopted, progress, signal);
  const archive = keep ? await kept.add(adopted) : adopted;
  try {
    await inBatches(atOnce, nodes, async ({ name, runtime }) => {
      signal.throwIfAborted();
      try {
        await runtime.load(archive);
      } catch (cause) {
        throw new Error(`import ${input} in node ${name}`, { cause });
      }
    });
  } finally {
    if (!keep) rmSync(adopted, { force: true });
  }
  return images.map(({ reference }) => reference);
}
