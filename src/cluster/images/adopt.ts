// Archives of images that others made, by `docker save`, podman, buildx or skopeo, made into one of ours: only what this machine can
// run, under full names, each blob once and checked against its digest. So whoever imports or serves images later meets one form only.
import { createHash } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import type { ImageArchive } from "./archive.ts";
import { readDockerImages } from "./docker-archive.ts";
import type { FoundImage } from "./found-image.ts";
import { blobName, layoutFiles, type NamedManifest } from "./image.ts";
import { readOciImages } from "./oci-archive.ts";
import { type TarEntry, tarEnd, tarHead, tarPadding } from "./tar.ts";
import type { TarPlace } from "./tar-index.ts";

/** Writes what is in an archive to a new file in our form. Throws an error that says what is wrong with it, and leaves no file then. */
export async function adoptArchive(
  source: ImageArchive,
  target: string,
  progress: (doneBytes: number, totalBytes: number) => void,
  signal: AbortSignal,
): Promise<readonly NamedManifest[]> {
  const images = await readImages(source, signal);
  const blobs = new Map(images.flatMap((image) => [...image.blobs]));
  const total = [...blobs.values()].reduce((sum, blob) => sum + sizeOf(blob), 0);
  const manifests = images.flatMap(({ references, manifest }) =>
    references.map((reference) => ({ ...manifest, reference })),
  );
  const file = await open(target, "wx", 0o600);
  try {
    const write = new ArchiveWriter(file, (done) => progress(done, total));
    for (const entry of layoutFiles(manifests)) await write.entry(entry);
    for (const [digest, blob] of blobs) {
      signal.throwIfAborted();
      await write.blob(source, digest, blob);
    }
    await write.end();
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return manifests;
}

const sizeOf = (blob: TarPlace | Buffer): number => (Buffer.isBuffer(blob) ? blob.length : blob.size);

/** Newer versions of `docker save` write both forms, of which the first says more. */
async function readImages(source: ImageArchive, signal: AbortSignal): Promise<readonly FoundImage[]> {
  const isOci = source.has("index.json");
  if (!isOci && !source.has("manifest.json"))
    throw new Error(
      `${source.path} is no archive of images: it has neither the index.json of OCI nor the manifest.json of "docker save"`,
    );
  const oci = isOci ? await readOciImages(source) : [];
  const images = oci.length === 0 && source.has("manifest.json") ? await readDockerImages(source, signal) : oci;
  if (images.length === 0)
    throw new Error(`no image in ${source.path} has a name; save it by its name, as in "docker save app:1.0"`);
  return images;
}

class ArchiveWriter {
  readonly #file: FileHandle;
  readonly #progress: (doneBytes: number) => void;
  #done = 0;

  constructor(file: FileHandle, progress: (doneBytes: number) => void) {
    this.#file = file;
    this.#progress = progress;
  }

  async entry(entry: TarEntry): Promise<void> {
    const { content = new Uint8Array() } = entry;
    await this.#write(tarHead(entry, content.length), content, tarPadding(content.length));
  }

  async blob(source: ImageArchive, digest: string, blob: TarPlace | Buffer): Promise<void> {
    const name = blobName(digest);
    if (Buffer.isBuffer(blob)) return this.entry({ name, content: blob });
    const hash = createHash("sha256");
    await this.#write(tarHead({ name }, blob.size));
    for await (const chunk of source.stream(blob)) {
      hash.update(chunk);
      await this.#write(chunk);
      this.#done += chunk.length;
      this.#progress(this.#done);
    }
    await this.#write(tarPadding(blob.size));
    const actual = `sha256:${hash.digest("hex")}`;
    if (actual !== digest) throw new Error(`${source.path} is damaged: blob ${digest} has the digest ${actual}`);
  }

  async end(): Promise<void> {
    await this.#write(tarEnd);
  }

  async #write(...parts: readonly Uint8Array[]): Promise<void> {
    await this.#file.writev([...parts]);
  }
}
