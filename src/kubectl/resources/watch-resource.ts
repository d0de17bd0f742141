// Changes of a resource as they happen.
import { isObject } from "#base/is-object.ts";
import type { RestMapping } from "../discovery/rest-mapper.ts";
import { KubectlError } from "../errors.ts";
import { type KubeObject, parseAnswer, type RestClient } from "../rest/client.ts";
import { type ListRequest, selectorQuery } from "./list-pages.ts";
import { resourcePath } from "./resource-info.ts";

export interface WatchRequest extends ListRequest {
  readonly mapping: RestMapping;
  /** Only the object of this name. */
  readonly name?: string;
  readonly resourceVersion?: string;
  readonly signal?: AbortSignal;
}

export interface ResourceEvent {
  readonly type: string;
  readonly object: KubeObject;
}

/** An event longer than this is none. */
const eventLimit = 64 * 1024 * 1024;

/** Ends when the server ends the watch. Rejects as requests do. */
export async function* watchResource(client: RestClient, request: WatchRequest): AsyncGenerator<ResourceEvent> {
  const { mapping, namespace, name, resourceVersion, accept, signal } = request;
  const byName = name === undefined ? {} : { fieldSelector: `metadata.name=${name}` };
  const { body } = await client.open({
    path: resourcePath(mapping, namespace),
    query: [
      ...selectorQuery({ ...request, ...byName }),
      ["watch", "true"],
      ...(resourceVersion === undefined ? [] : [["resourceVersion", resourceVersion] as const]),
    ],
    isEndless: true,
    ...(accept !== undefined && { accept }),
    ...(signal && { signal }),
  });
  for await (const line of linesOf(body)) {
    const event = parseAnswer(line);
    if (!isObject(event) || typeof event.type !== "string" || !isObject(event.object))
      throw new KubectlError(`unable to decode an event from the watch stream: ${line.slice(0, 200)}`);
    yield { type: event.type, object: event.object as KubeObject };
  }
}

/** The lines of a stream of bytes, without empty ones. Rejects with KubectlError if one of them does not end. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let begun: string[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const [first = "", ...others] = decoder.decode(chunk, { stream: true }).split("\n");
    begun.push(first);
    size += first.length;
    if (size > eventLimit) throw new KubectlError("the server sent an event that is too large");
    const rest = others.pop();
    if (rest === undefined) continue;
    for (const line of [begun.join(""), ...others]) if (line.trim() !== "") yield line;
    begun = [rest];
    size = rest.length;
  }
  const last = begun.join("");
  if (last.trim() !== "") yield last;
}
