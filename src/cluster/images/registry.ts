// A registry of the images that a cluster has itself, for the nodes of this machine: so an image of ours can be pulled like any other,
// which Kubernetes does at every start of a container whose image has the tag `latest`. It is read only, and serves only names of the
// registry knarr.local: other images that a person loaded are not exposed to everyone who can reach it.
import type { HttpRequest, HttpResponse } from "#wire/http.ts";
import { ImageArchive } from "./archive.ts";
import { blobName, type NamedManifest } from "./image.ts";

export const registryHost = "knarr.local";

/** The configuration of containerd in `<config_path>/knarr.local/hosts.toml`, which it reads at every pull. Without a table for the host, whose name
 * would end at the first bracket of an address of IPv6, but with the empty one that containerd 1.6 insists on. */
export const registryHosts = (url: string): string => `server = ${JSON.stringify(url)}
capabilities = ["pull", "resolve"]
[host]
`;

type RegistryRequest = Pick<HttpRequest, "method" | "path">;
interface Answer extends HttpResponse {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | AsyncIterable<Uint8Array>;
}

export interface ServedImages {
  /** Which there are now; where several have an image of the same name, the last counts. */
  readonly archives: () => readonly string[] | Promise<readonly string[]>;
  /** Called for an image that is not there. Resolves with whether it may be there now. */
  readonly make?: (name: string) => Promise<boolean>;
}

export function registry({ archives, make = async () => false }: ServedImages) {
  return async (request: RegistryRequest): Promise<Answer> => {
    if (request.method !== "GET" && request.method !== "HEAD")
      return refused(405, "UNSUPPORTED", `${request.method} is not supported: images come by "knarr load"`);
    const { path } = request;
    if (path === "/v2/" || path === "/v2") return { code: 200, headers: { ...version, ...json }, body: "{}" };
    const [, name = "", what, reference = ""] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(path) ?? [];
    if (what === undefined) return refused(404, "NAME_UNKNOWN", `${path} is nothing that a registry has`);
    const look = async () => find(await archives(), name, what, reference, request);
    return (
      (await look()) ??
      (what === "manifests" && (await make(name)) ? await look() : undefined) ??
      refused(404, what === "blobs" ? "BLOB_UNKNOWN" : "MANIFEST_UNKNOWN", `${name}: ${reference} is not known`)
    );
  };
}

const version = { "docker-distribution-api-version": "registry/2.0" };
const json = { "content-type": "application/json" };

async function find(
  archives: readonly string[],
  name: string,
  what: string,
  reference: string,
  request: RegistryRequest,
): Promise<Answer | undefined> {
  for (const path of archives.toReversed()) {
    await using archive = await ImageArchive.open(path);
    const images = (await archive.images()).filter((image) => repositoryOf(image) === name);
    const image = images.find(({ reference: own, digest }) =>
      reference.includes(":") ? digest === reference : own === `${registryHost}/${name}:${reference}`,
    );
    const digest = what === "manifests" ? image?.digest : await ownBlob(archive, images, reference);
    const place = digest === undefined ? undefined : archive.blob(digest);
    if (digest === undefined || !place) continue;
    const headers = {
      ...version,
      "content-type": image?.mediaType ?? "application/octet-stream",
      "content-length": String(place.size),
      "docker-content-digest": digest,
    };
    return { code: 200, headers, body: request.method === "HEAD" ? "" : blobIn(path, digest) };
  }
  return undefined;
}

/** The archive is opened by whoever begins to read, so that nothing is left open for those who never do. */
async function* blobIn(path: string, digest: string): AsyncGenerator<Uint8Array> {
  await using archive = await ImageArchive.open(path);
  const place = archive.blob(digest);
  if (place) yield* archive.stream(place);
}

/** `nginx` of `knarr.local/nginx:1.0`; nothing for names of other registries. */
const repositoryOf = ({ reference }: NamedManifest): string | undefined =>
  reference.startsWith(`${registryHost}/`) ? reference.slice(registryHost.length + 1).split(":")[0] : undefined;

/** A blob is served only as a part of a served image: archives also have images of other registries. */
async function ownBlob(
  archive: ImageArchive,
  images: readonly NamedManifest[],
  digest: string,
): Promise<string | undefined> {
  for (const image of images) {
    const { config, layers } = (await archive.json(blobName(image.digest))) as {
      readonly config: { readonly digest: string };
      readonly layers: readonly { readonly digest: string }[];
    }; // its form was checked when it was kept
    if ([config, ...layers].some((blob) => blob.digest === digest)) return digest;
  }
  return undefined;
}

const refused = (code: number, reason: string, message: string): Answer => ({
  code,
  headers: { ...version, ...json },
  body: JSON.stringify({ errors: [{ code: reason, message }] }),
});
