// One of the two contenders, in a process of its own: says its port, then its processor time whenever it is asked.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Service } from "#api/core/v1/service.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { Cache } from "#client/cache.ts";
import { world } from "#client/testing.ts";
import { directoryOf } from "#dns/directory.ts";
import { serveDns } from "#dns/host/server.ts";
import { Resolver } from "#dns/resolver.ts";
import { DnsZone } from "#dns/zone.ts";

async function dns(): Promise<number> {
  const w = world();
  const namespaces = new Cache<Namespace>();
  namespaces.set("default", w.have(Namespace, { metadata: { name: "default" } }));
  const services = new Cache<Service>();
  for (let i = 0; i < 10_000; i++) {
    const metadata = { name: `web-${i}`, namespace: "default" };
    const spec = { clusterIP: `10.96.${i >> 8}.${i & 255}`, ports: [{ port: 80 }] };
    services.set(`default/web-${i}`, w.have(Service, { metadata, spec }));
  }
  const zone = new DnsZone("cluster.local", directoryOf({ namespaces, services, slices: new Cache() }), []);
  const resolver = new Resolver({ zone, clock: systemClock, random: systemRandom, log: silentLog });
  return (await serveDns({ resolver, address: "127.0.0.1", port: 0, log: silentLog })).port;
}

async function echo(): Promise<number> {
  const socket = createSocket("udp4");
  socket.on("message", (bytes, from) => socket.send(bytes, from.port, from.address));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return socket.address().port;
}

const port = await (process.argv[2] === "dns" ? dns() : echo());
let last = process.cpuUsage();
process.on("message", () => {
  const { user, system } = process.cpuUsage(last);
  last = process.cpuUsage();
  process.send?.((user + system) / 1000);
});
process.on("disconnect", () => process.exit());
process.send?.({ port });
