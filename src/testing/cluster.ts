// A cluster inside a test: the very one that `knarr up` starts, in memory and on a clock that the test moves.
import { generateKeyPairSync } from "node:crypto";
import { tokenKeys } from "#apiserver/host/token-keys.ts";
import { noConnection } from "#apiserver/node-connection.ts";
import { parseAddressRanges, parsePortRange } from "#apiserver/strategies/service/ranges.ts";
import { turn } from "#base/breathe.ts";
import { type Clock, ManualClock } from "#base/clock.ts";
import { deepFreeze } from "#base/collections.ts";
import { type Log, silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import type { Client } from "#client/client.ts";
import { assembleCluster, type Cluster } from "#cluster/cluster.ts";
import { admin, userOf } from "#cluster/identities.ts";
import { withStorage } from "#cluster/local-storage.ts";
import { simulatedNodes } from "#kubelet/simulated/nodes.ts";
import type { StoreEngine } from "#store/engine.ts";
import { MemoryStore } from "#store/memory.ts";
import type { User } from "#wire/api-request.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";

export interface TestClusterOptions {
  /** Defaults to one that stands still until it is advanced. */
  readonly clock?: Clock;
  /** The same seed gives the same names. */
  readonly seed?: number;
  readonly store?: StoreEngine;
  /** Simulated nodes; defaults to 1. */
  readonly nodes?: number;
  readonly log?: Log;
  /** Admission plugins besides those that run anyway. */
  readonly plugins?: readonly string[];
}

export interface TestCluster extends AsyncDisposable {
  /** Acts as the administrator. */
  readonly client: Client;
  readonly clock: Clock;
  /** Switches nodes off and on, and makes them report that they are unwell. */
  readonly nodes: Cluster["nodes"];
  /** A client that acts as someone else. */
  as(user: User): Client;
  /** Lets time pass. Does nothing on a clock that moves by itself. */
  advance(ms: number): Promise<void>;
  /** Lets time pass until `isDone`, at most so many milliseconds of it; throws if it does not come to that. */
  until(isDone: () => boolean | Promise<boolean>, withinMs?: number): Promise<void>;
  stop(): Promise<void>;
}

const issuer = "https://kubernetes.default.svc.cluster.local";
const stepMs = 100;
const turnsPerStep = 5;

export async function startCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const clock = options.clock ?? new ManualClock("2026-01-01T00:00:00Z");
  const cluster = assembleCluster(
    {
      network: { addresses: parseAddressRanges("10.96.0.0/16"), nodePorts: parsePortRange("30000-32767") },
      rootCa: "the authority of a test",
      ...(options.plugins && { admission: { enable: options.plugins } }),
      loadBalancerAddresses: ["172.31.255.0/24"],
      nodes: (parts) =>
        withStorage(simulatedNodes({ ...parts, count: options.nodes ?? 1, podRange: "10.128.0.0/9", spdyCompression })),
      identity: {
        authenticators: [],
        tokens: [],
        audiences: [issuer],
        serviceAccounts: { keys: tokenKeys(newKey()), issuers: [issuer], extendExpiration: true },
      },
    },
    {
      clock,
      random: seededRandom(options.seed ?? 1),
      log: options.log ?? silentLog,
      store: options.store ?? new MemoryStore({ clock }),
      connection: { ...noConnection, spdyCompression },
      protect: deepFreeze,
    },
  );
  const ended = new AbortController();
  const running = cluster.run(ended.signal);
  running.catch((error: unknown) => ended.abort(error)); // whoever waits for the cluster learns why it is no more
  const advance = async (ms: number): Promise<void> => {
    if (clock instanceof ManualClock) await clock.advance(ms);
    else await clock.sleep(ms, ended.signal);
  };
  const until: TestCluster["until"] = async (isDone, withinMs = 60_000) => {
    const end = clock.elapsed() + withinMs;
    for (;;) {
      for (let i = 0; i < turnsPerStep; i++) await turn();
      if (await isDone()) return;
      ended.signal.throwIfAborted();
      if (clock.elapsed() >= end) throw new Error(`it did not come to that within ${withinMs} ms`);
      await advance(stepMs);
    }
  };
  let isReady = false;
  const ready = cluster.ready(ended.signal).then(() => {
    isReady = true;
  });
  await Promise.all([ready, until(() => isReady)]);
  const stop = async () => {
    ended.abort(new Error("the test is over"));
    await running;
  };
  return {
    client: cluster.clientFor(userOf(admin), "test"),
    clock,
    nodes: cluster.nodes,
    as: (user) => cluster.clientFor(user, "test"),
    advance,
    until,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

const newKey = (): string =>
  generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  }).privateKey;
