// The address of this machine by which another reaches it: the one that the kernel would send from.
import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

/** Nothing is sent. Rejects if there is no way there. */
export async function addressTowards(host: string, port: number): Promise<string> {
  const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
  try {
    const connected = once(socket, "connect"); // rejects if an error comes first
    socket.connect(port, host);
    await connected;
    return socket.address().address;
  } finally {
    socket.close();
  }
}

/** Host and port of the address of a server. */
export function serverPlace(server: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(server);
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(port || "443") };
}

/** The interface that has the address. */
export function deviceOf(address: string): string | undefined {
  return Object.entries(networkInterfaces()).find(([, own]) => own?.some((one) => one.address === address))?.[0];
}

const usualMtu = 1500;

/** The largest packets of the interface that has the address. */
export function mtuOf(address: string): number {
  const device = deviceOf(address);
  if (device === undefined) return usualMtu;
  // Not from /sys, which shows the network of whoever mounted it.
  const text = execFileSync("ip", ["-o", "link", "show", "dev", device], { encoding: "utf8" });
  return Number(/ mtu (\d+) /.exec(text)?.[1] ?? usualMtu);
}
