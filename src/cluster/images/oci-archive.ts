// Images of an OCI layout, as its index leads to them.
import type { ImageArchive } from "./archive.ts";
import { checkPlatform, type FoundImage, fullReference } from "./found-image.ts";
import { blobName, type Descriptor, mediaTypes, ownArchitecture } from "./image.ts";
import type { TarPlace } from "./tar-index.ts";

type Json = Readonly<Record<string, unknown>>;

const indexTypes: ReadonlySet<unknown> = new Set([
  mediaTypes.index,
  "application/vnd.docker.distribution.manifest.list.v2+json",
]);
const digestForm = /^sha256:[0-9a-f]{64}$/;
const nestings = 3;

/** Those that have a name. */
export async function readOciImages(source: ImageArchive): Promise<readonly FoundImage[]> {
  const found = new Map<string, { readonly references: string[]; readonly entry: Json }>();
  for (const entry of listIn(await source.json("index.json"), "manifests", source)) {
    const reference = nameOf(entry);
    const known = found.get(String(entry.digest)) ?? { references: [], entry };
    if (reference !== undefined) known.references.push(reference);
    found.set(String(entry.digest), known);
  }
  return Promise.all(
    [...found.values()]
      .filter(({ references }) => references.length > 0)
      .map(({ references, entry }) => readImage(source, [...new Set(references)], entry)),
  );
}

/** buildx and docker give the whole name in one annotation, podman and skopeo in another, which may also be a mere tag. */
function nameOf({ annotations }: Json): string | undefined {
  const { "io.containerd.image.name": whole, "org.opencontainers.image.ref.name": other } = (annotations ?? {}) as Json;
  if (typeof whole === "string") return fullReference(whole);
  return typeof other === "string" && /[:/]/.test(other) ? fullReference(other) : undefined;
}

async function readImage(source: ImageArchive, references: readonly string[], entry: Json): Promise<FoundImage> {
  const [reference = ""] = references;
  const { bytes, json, digest } = await ownManifest(source, entry, reference, nestings);
  const config = descriptorIn(json.config, source);
  checkPlatform(await source.json(blobName(config.digest)), reference);
  const layers = listIn(json, "layers", source).map((layer) => descriptorIn(layer, source));
  const blobs = new Map<string, TarPlace>();
  for (const blob of [config, ...layers]) {
    const place = source.blob(blob.digest);
    if (!place)
      throw new Error(`${source.path} does not have all of image ${reference}: blob ${blob.digest} is missing`);
    if (place.size !== blob.size)
      throw new Error(`${source.path} is damaged: blob ${blob.digest} has ${place.size} bytes, not ${blob.size}`);
    blobs.set(blob.digest, place);
  }
  const place = source.blob(digest);
  if (place) blobs.set(digest, place);
  const mediaType = typeof json.mediaType === "string" ? json.mediaType : mediaTypes.manifest;
  return { references, manifest: { mediaType, digest, size: bytes.length }, blobs };
}

interface Manifest {
  readonly bytes: Buffer;
  readonly json: Json;
  readonly digest: string;
}

/** An index of several platforms leads to that of this machine. */
async function ownManifest(source: ImageArchive, entry: Json, reference: string, depth: number): Promise<Manifest> {
  const { digest } = descriptorIn(entry, source);
  const bytes = await source.bytes(blobName(digest));
  const json = (await source.json(blobName(digest))) as Json;
  const isIndex = indexTypes.has(entry.mediaType) || indexTypes.has(json.mediaType) || Array.isArray(json.manifests);
  if (!isIndex) return { bytes, json, digest };
  if (depth === 0) throw new Error(`image ${reference} in ${source.path} is an index of indexes of indexes`);
  const entries = listIn(json, "manifests", source);
  const platformOf = ({ platform }: Json) => (platform ?? {}) as Json;
  const own = entries.find((candidate) => {
    const { os = "linux", architecture = ownArchitecture } = platformOf(candidate);
    return os === "linux" && architecture === ownArchitecture && source.has(blobName(String(candidate.digest)));
  });
  if (own) return ownManifest(source, own, reference, depth - 1);
  const there = entries
    .filter((candidate) => source.has(blobName(String(candidate.digest))))
    .map((candidate) => `${platformOf(candidate).os}/${platformOf(candidate).architecture}`);
  throw new Error(
    `image ${reference} in ${source.path} is for ${there.join(", ") || "no platform"}, and the nodes are linux/${ownArchitecture}`,
  );
}

function descriptorIn(value: unknown, source: ImageArchive): Descriptor {
  const { digest, size, mediaType } = (value ?? {}) as Json;
  if (typeof digest !== "string" || !digestForm.test(digest) || typeof size !== "number")
    throw new Error(`${source.path} has a descriptor without a digest of SHA-256 and a size`);
  return { digest, size, mediaType: typeof mediaType === "string" ? mediaType : mediaTypes.manifest };
}

function listIn(value: unknown, field: string, source: ImageArchive): readonly Json[] {
  const list = ((value ?? {}) as Json)[field];
  if (!Array.isArray(list)) throw new Error(`${source.path} has an index or a manifest without ${field}`);
  return list.map((entry) => (entry ?? {}) as Json);
}
