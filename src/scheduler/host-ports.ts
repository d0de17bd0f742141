// Ports of a node that its pods have taken.

import { isSidecar } from "#api/core/v1/amounts.ts";
import type { Pod } from "#api/core/v1/pod.ts";

export interface HostPort {
  /** `TCP/8080` */
  readonly port: string;
  readonly address: string;
}

/** On this address, a port is taken on all of them. */
const anyAddress = "0.0.0.0";

/** Init containers have ended before anything else wants a port; sidecars have not. */
export const hostPortsOf = ({ spec }: Pod): readonly HostPort[] =>
  [...spec.containers, ...(spec.initContainers ?? []).filter(isSidecar)].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, protocol, hostIP }) =>
      hostPort > 0 ? [{ port: `${protocol || "TCP"}/${hostPort}`, address: hostIP || anyAddress }] : [],
    ),
  );

export class HostPorts {
  /** By port: the addresses it is taken on, one entry for each pod that has it. */
  readonly #taken = new Map<string, string[]>();

  add(ports: readonly HostPort[]): void {
    for (const { port, address } of ports) {
      const addresses = this.#taken.get(port);
      if (addresses) addresses.push(address);
      else this.#taken.set(port, [address]);
    }
  }

  remove(ports: readonly HostPort[]): void {
    for (const { port, address } of ports) {
      const addresses = this.#taken.get(port);
      const at = addresses?.indexOf(address) ?? -1;
      if (addresses === undefined || at < 0) continue;
      addresses.splice(at, 1);
      if (addresses.length === 0) this.#taken.delete(port);
    }
  }

  isFree(wanted: HostPort): boolean {
    const addresses = this.#taken.get(wanted.port);
    return addresses === undefined || !addresses.some((address) => clash(address, wanted.address));
  }

  copy(): HostPorts {
    const same = new HostPorts();
    for (const [port, addresses] of this.#taken) same.#taken.set(port, [...addresses]);
    return same;
  }
}

const clash = (a: string, b: string): boolean => a === b || a === anyAddress || b === anyAddress;

export const portsClash = (a: readonly HostPort[], b: readonly HostPort[]): boolean =>
  a.some((one) => b.some((other) => one.port === other.port && clash(one.address, other.address)));
