// What priority and fairness costs a get: two servers in this process, with and without it, asked in turn.
import { testServer } from "#apiserver/testing.ts";

const rounds = 30;
const requests = 3000;
const path = "/api/v1/namespaces/default/configmaps/one";

/** Microseconds of a get from memory, without HTTP. */
export async function stageCost(): Promise<Record<"fair" | "counted", number>> {
  const servers = await Promise.all(
    [true, false].map(async (isFair) => {
      const users = { someone: { name: "someone", groups: ["system:authenticated"] } };
      const server = await testServer({ isFair, authenticators: [() => users.someone], protect: (object) => object });
      await server.server.system({ address: undefined, port: 6443 }).reconcile(new AbortController().signal);
      await server.call("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "one" } });
      return server;
    }),
  );
  const get = {
    method: "GET",
    path,
    query: new URLSearchParams(),
    url: path,
    headers: { "user-agent": "bench/1" },
    body: async () => new Uint8Array(),
    content: nothing(),
    clientCertificate: undefined,
    remoteAddress: "127.0.0.1",
    signal: new AbortController().signal,
  };
  const times = servers.map((): number[] => []);
  try {
    for (let round = -3; round < rounds; round++)
      for (const [i, { server }] of servers.entries()) {
        const before = process.cpuUsage();
        for (let request = 0; request < requests; request++) await server.handle(get);
        const { user, system } = process.cpuUsage(before);
        if (round >= 0) times[i]?.push((user + system) / requests);
      }
  } finally {
    for (const server of servers) await server[Symbol.asyncDispose]();
  }
  // The least: whatever else the machine does only adds to it.
  const [fair = Number.NaN, counted = Number.NaN] = times.map((one) => Math.min(...one));
  return { fair, counted };
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array();
}
