// An API server in memory, on a clock that stands still, for tests of this layer.
import { ManualClock } from "#base/clock.ts";
import { deepFreeze, own } from "#base/collections.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import type { ApiObject } from "#schema/object.ts";
import type { StoreEngine } from "#store/engine.ts";
import { MemoryStore } from "#store/memory.ts";
import type { User } from "#wire/api-request.ts";
import { type HttpResponse, isParts, isStream } from "#wire/http.ts";
import { assembleApiServer } from "./assemble.ts";
import type { Assembly, AssemblyOptions } from "./assembly/options.ts";
import { noConnection } from "./node-connection.ts";
import { admitAll } from "./registry/admission.ts";
import { parseAddressRanges, parsePortRange } from "./strategies/service/ranges.ts";

/** An object or a list, or whatever else an answer holds. */
export type TestObject = ApiObject & {
  readonly metadata: ApiObject["metadata"] & { readonly continue?: string; readonly remainingItemCount?: number };
};

export interface TestAnswer {
  readonly code: number;
  readonly headers: HttpResponse["headers"];
  /** The parsed body. */
  readonly json: TestObject;
  readonly text: string;
}

export interface TestServer extends AsyncDisposable {
  readonly clock: ManualClock;
  readonly store: StoreEngine;
  readonly server: Assembly;
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<TestAnswer>;
  /** Starts a watch; its events come out of the iterator. */
  watch(path: string, signal?: AbortSignal): Promise<AsyncIterator<ApiObject>>;
}

export const testUser: User = { name: "tester", groups: ["system:masters", "system:authenticated"] };

export interface TestOptions extends Partial<Omit<AssemblyOptions, "network" | "clock">> {
  /** Ranges of services: of their addresses and of their node ports. */
  readonly addresses?: string;
  readonly nodePorts?: string;
  /** Who shows which bearer token; without one, a request is `testUser`'s. */
  readonly users?: Readonly<Record<string, User>>;
  /** Where each request comes from; from this machine by default. */
  readonly addressOf?: () => string;
}

/** Another address for each request, so that none of them has guessed too often. */
export function manyAddresses(): () => string {
  let next = 0;
  return () => `10.${(next >> 16) & 255}.${(next >> 8) & 255}.${next++ & 255}`;
}

export async function testServer(options: TestOptions = {}): Promise<TestServer> {
  const { addresses = "10.96.0.0/16", nodePorts = "30000-32767", users = {}, addressOf, ...others } = options;
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const store = options.store ?? new MemoryStore({ clock });
  const stop = new AbortController();
  const server = assembleApiServer({
    random: seededRandom(1),
    log: silentLog,
    authenticators: [async ({ headers }) => (headers.authorization === undefined ? testUser : undefined)],
    tokens: [
      async (token, audiences) => {
        const user = own(users, token);
        return user && { user, audiences };
      },
    ],
    audiences: ["https://kubernetes.default.svc"],
    authorizers: () => [() => ({ decision: "allow" })],
    bootstrapPolicy: false,
    admission: admitAll,
    components: [],
    protect: deepFreeze,
    nodes: noConnection,
    version: { gitVersion: "v1.36.4" },
    network: { addresses: parseAddressRanges(addresses), nodePorts: parsePortRange(nodePorts) },
    ...others,
    clock,
    store,
  });
  const running = server.run(stop.signal);
  await server.ready(stop.signal);

  const send = (
    method: string,
    url: string,
    body: unknown,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ) => {
    const [path = "", query = ""] = url.split("?");
    const bytes =
      body === undefined
        ? new Uint8Array()
        : body instanceof Uint8Array
          ? body
          : new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
    return server.handle({
      method,
      path,
      query: new URLSearchParams(query),
      url,
      headers: { "content-type": "application/json", "user-agent": "test/1", ...headers },
      body: async () => bytes,
      content: (async function* () {
        yield bytes;
      })(),
      clientCertificate: undefined,
      remoteAddress: addressOf?.() ?? "127.0.0.1",
      signal,
    });
  };

  return {
    clock,
    store,
    server,
    async call(method, url, body, headers = {}) {
      const response = await send(method, url, body, headers, new AbortController().signal);
      if (isStream(response.body)) throw new Error("a stream was not expected");
      const { body: sent } = response;
      const whole = Buffer.concat(isParts(sent) ? [...sent] : [Buffer.from(sent)]);
      if (isParts(sent) && sent.size !== whole.length)
        throw new Error(`${sent.size} bytes were announced, not ${whole.length}`);
      const text = whole.toString();
      return {
        code: response.code,
        headers: response.headers,
        text,
        json: text.startsWith("{") ? JSON.parse(text) : undefined,
      };
    },
    async watch(url, signal = stop.signal) {
      const response = await send("GET", url, undefined, {}, signal);
      if (!isStream(response.body)) throw new Error(`expected a stream, got ${response.code} ${response.body}`);
      return parseLines(response.body);
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test is over"));
      await running;
      await store.close();
    },
  };
}

async function* parseLines(parts: AsyncIterable<Uint8Array>): AsyncGenerator<ApiObject> {
  for await (const part of parts)
    for (const line of Buffer.from(part).toString().trim().split("\n")) yield JSON.parse(line);
}
