// A proxy of any mode at work: an API server in this process, and the network of two nodes in namespaces.
import { spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Node } from "#api/core/v1/node.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { testServer, testUser } from "#apiserver/testing.ts";
import { runProgram } from "#base/host/run-program.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import { conntrack } from "#proxy/host/conntrack.ts";
import { ForwarderProcess } from "#proxy/host/forwarder-process.ts";
import { chooseMode, cleanUpAllModes } from "#proxy/modes/list.ts";
import { ServiceProxy } from "#proxy/proxy.ts";
import type { ProxyMode, RunOnNode } from "#proxy/proxy-mode.ts";
import type { Draft } from "#schema/infer.ts";
import { addresses, TwoNodes } from "./two-nodes.ts";

export const namespace = "default";

export interface ModeStage extends AsyncDisposable {
  readonly network: TwoNodes;
  readonly client: Client;
  readonly mode: ProxyMode;
  /** Resolves when the mode has applied everything that it was told. */
  settled(): Promise<void>;
  endpoints(service: string, endpoints: Draft<EndpointSlice["endpoints"]>, port?: SlicePort): Promise<void>;
  /** Removes what any mode may have left. */
  cleanUp(): Promise<void>;
  /** Ends the proxy; what it left on the node stays. */
  stop(): Promise<void>;
}

export type SlicePort = Draft<EndpointSlice["ports"][number]>;

export async function modeStage(modeName: string): Promise<ModeStage> {
  await using cleanUp = new AsyncDisposableStack();
  const network = cleanUp.use(await TwoNodes.make());
  const server = cleanUp.use(await testServer());
  const { signal } = new AbortController();
  const client = new Client({ transport: server.server.request, user: testUser, userAgent: "test/1", signal });
  await client.create(Node, { metadata: { name: "n1", labels: { "topology.kubernetes.io/zone": "a" } } });
  const parts = { client, clock: server.clock, random: seededRandom(1), log: silentLog };
  const informers = new Informers(parts);
  const run: RunOnNode = (command, options) => runProgram(["ip", "netns", "exec", network.node, ...command], options);
  const families = ["IPv4"] as const;
  const program = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
  const forwarder = new ForwarderProcess(() =>
    spawn("ip", ["netns", "exec", network.node, process.execPath, program, "run-forwarder"], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    }),
  );
  cleanUp.defer(() => forwarder.end());
  const options = {
    run,
    families,
    podRanges: ["10.244.0.0/16"],
    nodeAddresses: [addresses.node],
    forwarder,
  };
  const { mode } = chooseMode(modeName, options);
  const failures: unknown[] = [];
  const noted = (work: Promise<void>) =>
    work.catch((error: unknown) => {
      failures.push(error);
      throw error;
    });
  const proxy = new ServiceProxy({
    ...parts,
    informers,
    mode: {
      ...mode,
      rewrite: (changes, stopped) => noted(mode.rewrite(changes, stopped)),
      change: (changes, stopped) => noted(mode.change(changes, stopped)),
    },
    connections: conntrack(run),
    node: "n1",
    families,
  });
  const stop = new AbortController();
  const running = Promise.allSettled([informers.run(stop.signal), proxy.run(stop.signal)]);
  const end = async () => {
    stop.abort(new Error("over"));
    await running;
  };
  cleanUp.defer(end);
  const owned = cleanUp.move();
  let marks = 0;
  return {
    network,
    client,
    mode,
    async settled() {
      // A service more: once it is refused as it should be, everything before it is in place as well.
      const name = `mark-${marks++}`;
      const { spec } = await client.create(Service, { metadata: { name, namespace }, spec: { ports: [{ port: 1 }] } });
      for (let looks = 0; ; looks++) {
        const answer = await network.ask("node", { to: spec.clusterIP ?? "", port: 1 });
        if (answer === "ECONNREFUSED") break;
        if (failures.length > 0) throw failures[0];
        if (looks > 600) throw new Error(`rules do not follow: ${answer}`);
        await pause(20);
        await server.clock.advance(100);
      }
    },
    async endpoints(service, endpoints, port = { name: "", port: 8080 }) {
      const place = { name: `${service}-1`, namespace };
      if (await client.find(EndpointSlice, place)) await client.patch(EndpointSlice, place, "merge", { endpoints });
      else
        await client.create(EndpointSlice, {
          metadata: { ...place, labels: { "kubernetes.io/service-name": service } },
          addressType: "IPv4",
          endpoints,
          ports: [port],
        });
    },
    cleanUp: () => cleanUpAllModes(options, signal),
    stop: end,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
