// The address at which other machines reach the one that a cluster was made on.
import { networkInterfaces } from "node:os";
import { isOpen, type Settings } from "./settings.ts";

const isEverywhere = (address: string): boolean => address === "0.0.0.0" || address === "::";
/** Our own, and those of others who make networks inside of machines. */
const inside = /^(lo|kn[0-9a-f]{8}|kx[0-9a-f]{8}|docker|br-|veth|virbr|cni|flannel)/;

/** Throws if the machine has none. */
export function homeAddress(settings: Settings): string {
  const given = settings["advertise-address"];
  if (given !== undefined) return given;
  if (!isEverywhere(settings["bind-address"])) return settings["bind-address"];
  for (const [name, addresses = []] of Object.entries(networkInterfaces())) {
    const own = addresses.find(({ family, internal }) => family === "IPv4" && !internal);
    if (own && !inside.test(name)) return own.address;
  }
  throw new Error("this machine has no address that others could reach; name one with --advertise-address");
}

/** The address of a member of etcd beside the control plane of this machine. */
export const memberAddress = (settings: Settings): string => (isOpen(settings) ? homeAddress(settings) : "127.0.0.1");
