// The files of volumes that are made of objects: config maps, secrets, fields of the pod, tokens, and several of these in one folder.
// Upstream: pkg/volume/projected/projected.go.
import type { Pod } from "#api/core/v1/pod.ts";
import type { Volume } from "#api/core/v1/volume.ts";
import { fromBase64 } from "#base/base64.ts";
import { amountOf, fieldOf } from "./fields.ts";
import { InputMissing, type InputSources, type PodContext } from "./sources.ts";

export interface VolumeFile {
  /** Relative to the volume. */
  readonly path: string;
  readonly content: Uint8Array;
  readonly mode: number;
  /** The owner's uid; defaults to root. */
  readonly uid?: number;
}

/** The files of a volume, or undefined if it is none of objects. Throws InputMissing for what has to be there first. */
export async function filesOf(
  pod: Pod,
  volume: Volume,
  sources: InputSources,
  context: PodContext,
): Promise<readonly VolumeFile[] | undefined> {
  const from = new FileSources(pod, sources, context);
  const { configMap, secret, downwardAPI, projected } = volume;
  if (configMap) return from.configMap(configMap, configMap.defaultMode);
  if (secret) return from.secret({ ...secret, name: secret.secretName }, secret.defaultMode);
  if (downwardAPI) return from.fields(downwardAPI.items ?? [], downwardAPI.defaultMode ?? 0o644);
  if (!projected) return undefined;
  const files = new Map<string, VolumeFile>();
  for (const source of projected.sources)
    for (const file of await from.projected(source, projected.defaultMode)) files.set(file.path, file);
  return [...files.values()];
}

type Projection = NonNullable<Volume["projected"]>["sources"][number];

interface KeyedSource {
  readonly name?: string | undefined;
  readonly items?:
    | readonly { readonly key: string; readonly path: string; readonly mode?: number | undefined }[]
    | undefined;
  readonly optional?: boolean | undefined;
}

class FileSources {
  readonly #pod: Pod;
  readonly #sources: InputSources;
  readonly #context: PodContext;

  constructor(pod: Pod, sources: InputSources, context: PodContext) {
    this.#pod = pod;
    this.#sources = sources;
    this.#context = context;
  }

  get #namespace(): string {
    return this.#pod.metadata.namespace ?? "";
  }

  async projected(source: Projection, mode: number): Promise<readonly VolumeFile[]> {
    const { configMap, secret, downwardAPI, serviceAccountToken } = source;
    if (configMap) return this.configMap(configMap, mode);
    if (secret) return this.secret(secret, mode);
    if (downwardAPI) return this.fields(downwardAPI.items ?? [], mode);
    if (serviceAccountToken) return [await this.token(serviceAccountToken, mode)];
    const what = Object.entries(source).find(([, value]) => value !== undefined)?.[0] ?? "nothing";
    throw new InputMissing(`a projected source of ${what} cannot be written by this kubelet`);
  }

  async configMap(source: KeyedSource, mode: number): Promise<readonly VolumeFile[]> {
    const object = await this.#sources.configMap(this.#namespace, source.name ?? "");
    const plain = Object.entries(object?.data ?? {}).map(
      ([key, text]) => [key, new TextEncoder().encode(text)] as const,
    );
    const binary = Object.entries(object?.binaryData ?? {}).map(([key, text]) => [key, bytesOf(text)] as const);
    return this.#keyed(source, mode, object && new Map([...plain, ...binary]), "configmap");
  }

  async secret(source: KeyedSource, mode: number): Promise<readonly VolumeFile[]> {
    const object = await this.#sources.secret(this.#namespace, source.name ?? "");
    const data = Object.entries(object?.data ?? {}).map(([key, text]) => [key, bytesOf(text)] as const);
    return this.#keyed(source, mode, object && new Map(data), "secret");
  }

  fields(
    items: readonly {
      readonly path: string;
      readonly mode?: number | undefined;
      readonly fieldRef?: { readonly fieldPath: string } | undefined;
      readonly resourceFieldRef?: Parameters<typeof amountOf>[1] | undefined;
    }[],
    mode: number,
  ): readonly VolumeFile[] {
    const containers = [...(this.#pod.spec.initContainers ?? []), ...this.#pod.spec.containers];
    return items.map(({ path, mode: own = mode, fieldRef, resourceFieldRef }) => {
      const text = fieldRef
        ? fieldOf(this.#pod, fieldRef.fieldPath, this.#context)
        : resourceFieldRef
          ? amountOf(containers, resourceFieldRef, undefined, this.#context)
          : "";
      return { path, mode: own, content: new TextEncoder().encode(text) };
    });
  }

  async token(
    {
      path,
      audience,
      expirationSeconds,
    }: { readonly path: string; readonly audience?: string | undefined; readonly expirationSeconds: number },
    mode: number,
  ): Promise<VolumeFile> {
    const text = await this.#sources.token(this.#pod, audience, expirationSeconds);
    const content = new TextEncoder().encode(text);
    const uid = userOf(this.#pod);
    if (uid !== undefined) return { path, content, mode: 0o600, uid };
    // The volume's group gets its right to read where all its files do.
    return { path, content, mode: this.#pod.spec.securityContext?.fsGroup === undefined ? mode : 0o600 };
  }

  #keyed(
    { name = "", items, optional }: KeyedSource,
    mode: number,
    data: ReadonlyMap<string, Uint8Array> | undefined,
    kindName: string,
  ): readonly VolumeFile[] {
    if (!data) {
      if (optional) return [];
      throw new InputMissing(`${kindName} "${name}" not found`);
    }
    const wanted = items ?? [...data.keys()].map((key) => ({ key, path: key, mode: undefined }));
    return wanted.flatMap(({ key, path, mode: own = mode }) => {
      const content = data.get(key);
      if (content !== undefined) return [{ path, content, mode: own }];
      if (optional) return [];
      throw new InputMissing(`references non-existent ${kindName} key: ${key}`);
    });
  }
}

/** The user that all containers of a pod run as, if its spec says so: then only that user need read its tokens. */
function userOf({ spec }: Pod): number | undefined {
  const { securityContext, initContainers = [], containers, ephemeralContainers = [] } = spec;
  const users = [...initContainers, ...containers, ...ephemeralContainers].map(
    (container) => container.securityContext?.runAsUser ?? securityContext?.runAsUser,
  );
  return new Set(users).size === 1 ? users[0] : undefined;
}

function bytesOf(base64: string): Uint8Array {
  const bytes = fromBase64(base64);
  if (!bytes) throw new InputMissing("a value is no base64");
  return bytes;
}
