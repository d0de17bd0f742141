// Decides who answers at the address of the cluster's DNS: its pods once one of them does, and before that and whenever none does the
// process of the machine that the cluster was made on. So names are resolved from the first moment, and while the pods are replaced.
import { createSocket } from "node:dgram";
import { encode } from "dns-packet";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import type { Informers } from "#client/informers.ts";
import { slicesOf } from "#client/service-slices.ts";

export interface DnsHandoverOptions {
  readonly client: Client;
  readonly informers: Informers;
  /** Resolves when the API is served. */
  readonly serving: (signal: AbortSignal) => Promise<void>;
  /** Where that process answers. */
  readonly address: string;
  /** A name that is always there. */
  readonly probe: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether a DNS server answers there; asks it by default. */
  readonly answers?: (address: string, probe: string, signal: AbortSignal) => Promise<boolean>;
}

const service = { namespace: "kube-system", name: "kube-dns" };
const askAgainMs = 1000;
const answerMs = 1000;
const port = 53;

export function dnsHandover(options: DnsHandoverOptions): Component {
  const { client, informers, serving, address, probe, clock, log, answers = asksDns(clock) } = options;
  return {
    name: "dns-handover",
    async run(signal) {
      await serving(signal);
      const slices = informers.of(EndpointSlice);
      await slices.synced(signal);
      let wake = Promise.withResolvers<void>();
      const stop = slices.onChange(({ object, old }) => {
        if ((object ?? old)?.metadata.namespace === service.namespace) wake.resolve();
      });
      try {
        for (;;) {
          wake = Promise.withResolvers<void>();
          const all = slicesOf(slices.cache, `${service.namespace}/${service.name}`);
          const pods = readyAddresses(all.filter(({ metadata }) => metadata.name !== service.name));
          const results = await Promise.all(pods.map((pod) => answers(pod, probe, signal)));
          const wanted = results.includes(true) ? [] : [{ addresses: [address], conditions: { ready: true } }];
          const own = all.find(({ metadata }) => metadata.name === service.name);
          if (own && !equal(own.endpoints, wanted)) {
            log.info("names are resolved elsewhere now", { by: wanted.length === 0 ? "pods" : address });
            await client
              .bound({ signal })
              .patch(EndpointSlice, service, "merge", { endpoints: wanted })
              .catch((error: unknown) => {
                signal.throwIfAborted();
                log.warn("the endpoints of the DNS could not be written; trying again", { error: explain(error) });
              });
          }
          // Pods that say they are ready and do not answer yet are asked again.
          const isSettled = pods.length === 0 || results.every(Boolean);
          await Promise.race([
            wake.promise,
            isSettled ? clock.sleep(30 * askAgainMs, signal) : clock.sleep(askAgainMs, signal),
          ]);
        }
      } finally {
        stop();
      }
    },
  };
}

const readyAddresses = (slices: readonly EndpointSlice[]): readonly string[] =>
  slices.flatMap(({ endpoints }) =>
    endpoints
      .filter(({ conditions }) => conditions.ready !== false && conditions.terminating !== true)
      .flatMap(({ addresses }) => addresses),
  );

/** By a datagram, as any client would. */
const asksDns =
  (clock: Clock) =>
  async (address: string, probe: string, signal: AbortSignal): Promise<boolean> => {
    const socket = createSocket(address.includes(":") ? "udp6" : "udp4");
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const cancel = clock.after(answerMs, () => resolve(false));
    const stop = () => resolve(false);
    signal.addEventListener("abort", stop, { once: true });
    socket.on("message", (answer) => resolve(answer.length > 8 && answer.readUInt16BE(6) > 0));
    socket.on("error", () => resolve(false)); // nobody listens there
    socket.send(encode({ type: "query", id: 1, flags: 0x100, questions: [{ type: "A", name: probe }] }), port, address);
    try {
      return await promise;
    } finally {
      cancel();
      signal.removeEventListener("abort", stop);
      socket.close();
    }
  };
