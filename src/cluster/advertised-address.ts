import { networkInterfaces } from "node:os";
import type { ServiceNetwork } from "#apiserver/strategies/service/ranges.ts";

/** An address of this machine at which pods reach the API server, of the family that services have first. A loopback address is of no use to them. */
export function advertisedAddress({ addresses: [main] }: ServiceNetwork): string | undefined {
  const own = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  return own.find(({ internal, family }) => !internal && family === main.family)?.address;
}
