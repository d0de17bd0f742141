import { parseImage } from "#api/core/v1/image.ts";
import { type Descriptor, ownArchitecture } from "./image.ts";
import type { TarPlace } from "./tar-index.ts";

/** An image in an archive of any form, and what it is made of. */
export interface FoundImage {
  /** Full names. */
  readonly references: readonly string[];
  readonly manifest: Descriptor;
  readonly blobs: ReadonlyMap<string, TarPlace | Buffer>;
}

/** `docker.io/library/app:latest` of `app`; undefined for what is no name. */
export function fullReference(name: string): string | undefined {
  const parsed = parseImage(name);
  return parsed && `${parsed.domain}/${parsed.path}:${parsed.tag ?? "latest"}`;
}

/** Throws for an image of another kind of machine. Those that do not say what they are for are believed to be for this one. */
export function checkPlatform(config: unknown, reference: string): void {
  const { os = "linux", architecture = ownArchitecture } = (config ?? {}) as Readonly<Record<string, unknown>>;
  if (os !== "linux" || architecture !== ownArchitecture)
    throw new Error(`image ${reference} is for ${os}/${architecture}, and the nodes are linux/${ownArchitecture}`);
}
