// Container images made here, without a builder: an OCI archive that containerd imports.
import { createHash } from "node:crypto";
import { type TarEntry, tarOf } from "./tar.ts";

export interface ImageSpec {
  /** `knarr.local/nginx:1`. */
  readonly reference: string;
  readonly files: readonly TarEntry[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: readonly string[];
  readonly ports?: readonly string[];
  readonly workdir?: string;
}

const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/** The archive, for the processor of this machine. */
export function imageArchive(spec: ImageSpec): Buffer {
  const layer = tarOf(spec.files);
  const config = json({
    architecture: architectures[process.arch] ?? process.arch,
    os: "linux",
    config: {
      ...(spec.entrypoint && { Entrypoint: spec.entrypoint }),
      ...(spec.command && { Cmd: spec.command }),
      Env: spec.env ?? ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
      ...(spec.ports && { ExposedPorts: Object.fromEntries(spec.ports.map((port) => [port, {}])) }),
      ...(spec.workdir && { WorkingDir: spec.workdir }),
    },
    rootfs: { type: "layers", diff_ids: [digestOf(layer)] },
  });
  const manifest = json({
    schemaVersion: 2,
    mediaType: types.manifest,
    config: descriptor(types.config, config),
    layers: [descriptor(types.layer, layer)],
  });
  const index = json({
    schemaVersion: 2,
    mediaType: types.index,
    manifests: [
      {
        ...descriptor(types.manifest, manifest),
        annotations: {
          "io.containerd.image.name": spec.reference,
          "org.opencontainers.image.ref.name": spec.reference.split(":").at(-1),
        },
      },
    ],
  });
  return tarOf([
    { name: "oci-layout", content: json({ imageLayoutVersion: "1.0.0" }) },
    { name: "index.json", content: index },
    ...[layer, config, manifest].map((content) => ({
      name: `blobs/sha256/${digestOf(content).slice("sha256:".length)}`,
      content,
    })),
  ]);
}

const types = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
};

const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));
const digestOf = (bytes: Uint8Array): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const descriptor = (mediaType: string, bytes: Uint8Array) => ({
  mediaType,
  digest: digestOf(bytes),
  size: bytes.length,
});
