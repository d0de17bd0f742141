// Images as `docker save` writes them: a list of names, configurations and layers, and no digest of anything.
import { createHash } from "node:crypto";
import type { ImageArchive } from "./archive.ts";
import { checkPlatform, type FoundImage, fullReference } from "./found-image.ts";
import { type Descriptor, digestOf, manifestOf, mediaTypes } from "./image.ts";
import type { TarPlace } from "./tar-index.ts";

/** Those that have a name. */
export async function readDockerImages(source: ImageArchive, signal: AbortSignal): Promise<readonly FoundImage[]> {
  const entries = await source.json("manifest.json");
  if (!Array.isArray(entries)) throw new Error(`manifest.json in ${source.path} is no list`);
  const images: FoundImage[] = [];
  for (const entry of entries as readonly unknown[]) {
    const { Config: config, RepoTags: tags, Layers: layers } = (entry ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof config !== "string" || !isTexts(layers))
      throw new Error(`manifest.json in ${source.path} has an entry without Config or Layers`);
    const references = isTexts(tags) ? tags.flatMap((tag) => fullReference(tag) ?? []) : [];
    if (references.length > 0) images.push(await dockerImage(source, references, { config, layers }, signal));
  }
  return images;
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

async function dockerImage(
  source: ImageArchive,
  references: readonly string[],
  files: { readonly config: string; readonly layers: readonly string[] },
  signal: AbortSignal,
): Promise<FoundImage> {
  const config = await source.bytes(files.config);
  checkPlatform(await source.json(files.config), references[0] ?? "");
  const blobs = new Map<string, TarPlace | Buffer>([[digestOf(config), config]]);
  const layers: Descriptor[] = [];
  for (const name of files.layers) {
    signal.throwIfAborted();
    const place = source.place(name);
    if (!place) throw new Error(`${source.path} names a layer ${name} that it does not have`);
    const { digest, mediaType } = await layerOf(source, place);
    blobs.set(digest, place);
    layers.push({ mediaType, digest, size: place.size });
  }
  const described = { mediaType: mediaTypes.config, digest: digestOf(config), size: config.length };
  const bytes = manifestOf(described, layers);
  const manifest = { mediaType: mediaTypes.manifest, digest: digestOf(bytes), size: bytes.length };
  return { references, manifest, blobs: new Map([...blobs, [manifest.digest, bytes]]) };
}

const compressions = [
  { suffix: "+gzip", magic: Buffer.from([0x1f, 0x8b]) },
  { suffix: "+zstd", magic: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]) },
];

async function layerOf(source: ImageArchive, place: TarPlace): Promise<Pick<Descriptor, "digest" | "mediaType">> {
  const hash = createHash("sha256");
  let first: Buffer | undefined;
  for await (const chunk of source.stream(place)) {
    first ??= chunk;
    hash.update(chunk);
  }
  const found = compressions.find(({ magic }) => first?.subarray(0, magic.length).equals(magic));
  return { digest: `sha256:${hash.digest("hex")}`, mediaType: `${mediaTypes.layer}${found?.suffix ?? ""}` };
}
