// What aggregated servers publish of their APIs, read when one becomes available and every few minutes. One that publishes nothing, or too
// much, is served all the same: only clients that ask for its schema learn that there is none.
// Follows kube-aggregator/pkg/controllers/openapi and openapiv3 upstream.
import type { Clock } from "#base/clock.ts";
import { isObject } from "#base/is-object.ts";
import type { Log } from "#base/log.ts";
import { decodeUtf8, parseJson } from "#schema/json.ts";
import type { ForeignDocument } from "#schema/openapi/foreign.ts";
import { KeyedWork } from "./keyed-work.ts";
import { pathOfApi, type RemoteApi, type RemoteApis } from "./remote-apis.ts";
import type { RemoteCalls } from "./remote-calls.ts";

const lookAgainMs = 60_000;
/** Larger ones would keep the event loop while they are read. */
const maxBytes = 4 * 1024 * 1024;
const accept = "application/json";

export interface RemoteOpenApiOptions {
  readonly apis: RemoteApis;
  readonly calls: RemoteCalls;
  readonly clock: Clock;
  readonly log: Log;
  /** Told all documents whenever one of them has changed. */
  readonly published: (documents: readonly ForeignDocument[]) => void;
}

interface Publication {
  readonly document: ForeignDocument;
  readonly text: string;
  /** Of the version 2 document, which is large. */
  readonly etag: string | undefined;
}

export class RemoteOpenApi {
  readonly #options: RemoteOpenApiOptions;
  readonly #work: KeyedWork;
  readonly #known = new Map<string, Publication>();

  constructor(options: RemoteOpenApiOptions) {
    const { clock, log, apis } = options;
    this.#options = options;
    this.#work = new KeyedWork({
      name: "schemas of aggregated APIs",
      clock,
      log,
      backoff: { firstMs: 1000, maxMs: lookAgainMs },
      work: (name, signal) => this.#look(name, signal),
    });
    apis.subscribe((name) => {
      if (!apis.byName(name) && this.#known.delete(name)) this.#publish();
      this.#work.add(name);
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#work.run(() => this.#options.apis.all.map(({ name }) => name), signal);
  }

  async #look(name: string, signal: AbortSignal): Promise<number | undefined> {
    const { apis } = this.#options;
    const api = apis.byName(name);
    if (!api?.isAvailable) return undefined; // what is known of it stays
    const known = this.#known.get(name);
    const v3 = await this.#placeOfV3(api, signal);
    const read = await this.#options.calls.read(api, "/openapi/v2", { accept, etag: known?.etag, maxBytes, signal });
    const v2 = read.code === 304 ? known?.document.v2 : read.code === 200 ? jsonOf(read.bytes) : undefined;
    if (apis.byName(name) === undefined) return undefined;
    const document = { prefix: pathOfApi(api), v3, v2 };
    const text = JSON.stringify(document);
    if (known?.text !== text) {
      this.#known.set(name, { document, text, etag: read.etag });
      this.#publish();
    }
    return lookAgainMs;
  }

  async #placeOfV3(api: RemoteApi, signal: AbortSignal): Promise<ForeignDocument["v3"]> {
    const { code, bytes } = await this.#options.calls.read(api, "/openapi/v3", { accept, maxBytes, signal });
    const paths = code === 200 ? jsonOf(bytes)?.paths : undefined;
    const name = pathOfApi(api).slice(1);
    const entry = isObject(paths) && Object.hasOwn(paths, name) ? paths[name] : undefined;
    const url = isObject(entry) ? entry.serverRelativeURL : undefined;
    // Only the document itself is passed on, so nothing else may stand in for it.
    return typeof url === "string" && url.split("?")[0] === `/openapi/v3/${name}` ? { name, url } : undefined;
  }

  #publish(): void {
    this.#options.published([...this.#known.values()].map(({ document }) => document));
  }
}

function jsonOf(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  const { value } = parseJson(decodeUtf8(bytes));
  return isObject(value) ? value : undefined;
}
