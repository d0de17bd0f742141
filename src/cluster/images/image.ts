// Container images made here, without a builder: an OCI archive that containerd imports.
import { createHash } from "node:crypto";
import { type TarEntry, tarOf } from "./tar.ts";

export interface ImageSpec {
  /** All names it has: `knarr.local/nginx:1.0`, `knarr.local/nginx:latest`. */
  readonly references: readonly string[];
  /** The lowest first. Images that share one have it once in an archive. */
  readonly layers: readonly (readonly TarEntry[])[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: readonly string[];
  readonly ports?: readonly string[];
  readonly workdir?: string;
  /** What asks its process to end, if not SIGTERM. */
  readonly stopSignal?: string;
}

/** What an index, a manifest and a config say of another blob. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

export interface NamedManifest extends Descriptor {
  readonly reference: string;
}

export const mediaTypes = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
} as const;

/** What images have in their environment where nobody says otherwise. */
export const usualPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/** This machine's processor, as images name it. */
export const ownArchitecture: string = architectures[process.arch] ?? process.arch;

/** The archive of some images, for the processor of this machine. The same images give the same bytes. */
export function imageArchive(specs: readonly ImageSpec[]): Buffer {
  const layerBytes = new Map<readonly TarEntry[], Buffer>();
  const blobs = new Map<string, Buffer>();
  const keep = (mediaType: string, bytes: Buffer): Descriptor => {
    const digest = digestOf(bytes);
    blobs.set(digest, bytes);
    return { mediaType, digest, size: bytes.length };
  };
  const layerOf = (entries: readonly TarEntry[]): Descriptor => {
    const bytes = layerBytes.get(entries) ?? tarOf(entries);
    layerBytes.set(entries, bytes);
    return keep(mediaTypes.layer, bytes);
  };
  const manifests = specs.flatMap((spec) => {
    const layers = spec.layers.map(layerOf);
    const config = keep(mediaTypes.config, configOf(spec, layers));
    const manifest = keep(mediaTypes.manifest, manifestOf(config, layers));
    return spec.references.map((reference) => ({ ...manifest, reference }));
  });
  return tarOf([
    ...layoutFiles(manifests),
    ...[...blobs].map(([digest, content]) => ({ name: blobName(digest), content })),
  ]);
}

const configOf = (spec: ImageSpec, layers: readonly Descriptor[]): Buffer =>
  json({
    architecture: ownArchitecture,
    os: "linux",
    config: {
      ...(spec.entrypoint && { Entrypoint: spec.entrypoint }),
      ...(spec.command && { Cmd: spec.command }),
      Env: spec.env ?? [usualPath],
      ...(spec.ports && { ExposedPorts: Object.fromEntries(spec.ports.map((port) => [port, {}])) }),
      ...(spec.workdir && { WorkingDir: spec.workdir }),
      ...(spec.stopSignal && { StopSignal: spec.stopSignal }),
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ digest }) => digest) },
  });

export const manifestOf = (config: Descriptor, layers: readonly Descriptor[]): Buffer =>
  json({ schemaVersion: 2, mediaType: mediaTypes.manifest, config, layers });

/** What an archive has besides its blobs. */
export const layoutFiles = (manifests: readonly NamedManifest[]): readonly TarEntry[] => [
  { name: "oci-layout", content: json({ imageLayoutVersion: "1.0.0" }) },
  {
    name: "index.json",
    content: json({
      schemaVersion: 2,
      mediaType: mediaTypes.index,
      manifests: manifests.map(({ reference, mediaType, digest, size }) => ({
        mediaType,
        digest,
        size,
        annotations: {
          "io.containerd.image.name": reference,
          "org.opencontainers.image.ref.name": reference.split(":").at(-1),
        },
      })),
    }),
  },
];

export const blobName = (digest: string): string => `blobs/${digest.replace(":", "/")}`;
export const digestOf = (bytes: Uint8Array): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));
