// Writes that a server makes by itself: admitted and checked like any client's.
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";

const user = { name: "system:apiserver", groups: ["system:masters", "system:authenticated"] };

export class ServerWrites {
  readonly #request: (request: ApiRequest) => Promise<ApiResponse>;

  constructor(request: (request: ApiRequest) => Promise<ApiResponse>) {
    this.#request = request;
  }

  /** Under the name of the server itself, unless another manager of the fields is named. */
  async create(kind: AnyKind, object: DraftObject, signal: AbortSignal, manager?: string): Promise<void> {
    const { namespace } = object.metadata;
    const address = { ...request(kind, signal, manager), ...inside(namespace) };
    await this.#request({ ...address, verb: "create", body: bodyOf(object) });
  }

  async update(kind: AnyKind, object: ApiObject, signal: AbortSignal, manager?: string): Promise<void> {
    const { namespace, name = "" } = object.metadata;
    const address = { ...request(kind, signal, manager), name, ...inside(namespace) };
    await this.#request({ ...address, verb: "update", body: bodyOf(object) });
  }

  /** A merge patch, refused if the object is another one by now. */
  async merge(kind: AnyKind, object: DraftObject, signal: AbortSignal): Promise<void> {
    const { namespace, name = "" } = object.metadata;
    const body = { ...bodyOf(object), patchType: "merge" as const };
    await this.#request({ ...request(kind, signal), verb: "patch", name, ...inside(namespace), body });
  }

  /** Throws a conflict if the object is not the newest. */
  async updateStatus(kind: AnyKind, object: DraftObject, signal: AbortSignal): Promise<void> {
    const { namespace, name = "" } = object.metadata;
    const address = { ...request(kind, signal), name, subresource: "status", ...inside(namespace) };
    await this.#request({ ...address, verb: "update", body: bodyOf(object) });
  }

  /** Applies a status under a name of its own, whoever owned it before. */
  async applyStatus(kind: AnyKind, object: DraftObject, fieldManager: string, signal: AbortSignal): Promise<void> {
    const { namespace, name = "" } = object.metadata;
    await this.#request({
      ...request(kind, signal),
      verb: "patch",
      name,
      subresource: "status",
      ...inside(namespace),
      query: new URLSearchParams({ fieldManager, force: "true" }),
      body: { ...bodyOf(object), patchType: "apply" },
    });
  }

  /** Deletes the very object, if it is still there. */
  async remove(kind: AnyKind, { metadata }: Pick<ApiObject, "metadata">, signal: AbortSignal): Promise<void> {
    const { namespace, name = "", uid } = metadata;
    const options = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid } };
    await this.#request({
      ...request(kind, signal),
      verb: "delete",
      name,
      ...inside(namespace),
      body: bodyOf(options),
    });
  }
}

const request = ({ group, version, plural }: AnyKind, signal: AbortSignal, fieldManager?: string) => ({
  user,
  group,
  version,
  resource: plural,
  query: new URLSearchParams(fieldManager === undefined ? {} : { fieldManager }),
  userAgent: "kube-apiserver",
  signal,
});

const inside = (namespace: string | undefined) => (namespace === undefined ? {} : { namespace });

const bodyOf = (object: object) => ({
  decode: () => ({ object: structuredClone(object), strictErrors: [] }),
  value: () => structuredClone(object),
});
