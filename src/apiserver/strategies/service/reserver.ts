// Gives services their addresses and node ports.
// Upstream: pkg/registry/core/service/storage/alloc.go.
import { Service, type ServiceSpec } from "#api/core/v1/service.ts";
import { IPAddress } from "#api/networking/v1/ip-address.ts";
import { ServiceCIDR } from "#api/networking/v1/service-cidr.ts";
import type { ApiError } from "#base/errors.ts";
import type { Random } from "#base/random.ts";
import { addressAllocator, isInUse, managedByLabel } from "#rules/service-ranges.ts";
import { invalid, type Mutable, type Problem } from "#schema/index.ts";
import { formatIp, parseIp } from "#schema/ip.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { internalError, invalidObject } from "#wire/status.ts";
import type { Reservation, ReserveOptions, Reserver, ReserverParts } from "../../registry/reservation.ts";
import { keepsPreference, settleFamilies } from "./families.ts";
import { type HoldingClaim, Holdings } from "./holdings.ts";
import { takeNodePorts } from "./node-ports.ts";
import { keepAllocated, settleAddresses } from "./omitted.ts";
import {
  type AddressRange,
  canonicalIp,
  freeNumber,
  type IpFamily,
  isWithin,
  rangeOf,
  type ServiceNetwork,
} from "./ranges.ts";

export class ServiceReserver implements Reserver {
  readonly #network: ServiceNetwork;
  readonly #families: readonly [IpFamily, ...IpFamily[]];
  readonly #random: Random;
  readonly #holdings: Holdings;
  readonly #cacheOf: ReserverParts["cacheOf"];

  constructor({ network, random, cacheOf, ...parts }: ReserverParts) {
    this.#network = network;
    this.#cacheOf = cacheOf;
    const [main, ...others] = network.addresses;
    this.#families = [main.family, ...others.map(({ family }) => family)];
    this.#random = random;
    this.#holdings = new Holdings(parts, heldBy).follow();
  }

  isHeld(thing: string): boolean {
    return this.#holdings.isHeld(thing);
  }

  reserve(object: DraftObject, old: ApiObject | undefined, options: ReserveOptions = {}): Reservation {
    const { elsewhere, isTrial = false } = options;
    const spec: Mutable<ServiceSpec> = object.spec;
    const before: ServiceSpec | undefined = old?.spec;
    const refuse = (...problems: readonly Problem[]) => invalidObject(Service, object.metadata.name ?? "", problems);
    if (before) keepAllocated(spec, before);
    settleAddresses(spec, before);
    const problems = settleFamilies(spec, before, this.#families);
    if (problems.length > 0) throw refuse(...problems);
    const claim = this.#holdings.claim();
    const isTaken = (thing: string) =>
      elsewhere?.has(thing) || this.#holdings.isTaken(thing) || this.#isOfOthers(thing);
    try {
      this.#takeAddresses(spec, before, { claim, refuse, isTaken, name: object.metadata.name ?? "" });
      takeNodePorts(spec, before, {
        claim,
        refuse,
        range: this.#network.nodePorts,
        random: this.#random,
        isTaken,
        ...(isTrial && { trial: {} }),
      });
    } catch (error) {
      claim.release();
      throw error;
    }
    return claim;
  }

  /** Those that are missing, and those that are asked for and not held yet. */
  #takeAddresses(spec: Mutable<ServiceSpec>, old: ServiceSpec | undefined, taking: Taking): void {
    if (spec.type === "ExternalName" || spec.clusterIPs?.[0] === "None") return;
    const had = old && old.type !== "ExternalName" ? old : undefined;
    if (had && (had.clusterIPs?.[0] === "None" || keepsPreference(spec, had))) return;
    const addresses = [...(spec.clusterIPs ?? [])];
    const families = spec.ipFamilies ?? [];
    // Of an update only the second address may be new; validation refuses other changes.
    for (let index = had?.ipFamilies?.length ?? 0; index < families.length; index++)
      addresses[index] = this.#take(families[index] as IpFamily, addresses[index] ?? "", spec, taking);
    spec.clusterIPs = addresses;
    if (!had && addresses[0] !== undefined) spec.clusterIP = addresses[0];
  }

  #take(family: IpFamily, requested: string, spec: ServiceSpec, { claim, refuse, isTaken, name }: Taking): string {
    const ranges = this.#rangesOf(family);
    if (ranges.length === 0) throw new Error(`${family} was not found missing in time`);
    const bits = family === "IPv4" ? 4 : 6;
    if (requested !== "") {
      const ip = parseIp(requested);
      const why =
        ip?.family !== bits || !ranges.some((range) => isWithin(range, ip.value))
          ? "the provided network does not match the current range"
          : isTaken(canonicalIp(requested))
            ? "provided IP is already allocated"
            : undefined;
      if (why) throw refuse(invalid("spec.clusterIPs", `failed to allocate IP ${requested}: ${why}`, spec.clusterIPs));
      claim.take(canonicalIp(requested));
      return requested;
    }
    const text = (value: bigint) => formatIp({ family: bits, value });
    for (const range of ranges) {
      const free = freeNumber(range, (value) => isTaken(text(value)), this.#random);
      if (free === undefined) continue;
      claim.take(text(free));
      return text(free);
    }
    throw internalError(`failed to allocate a serviceIP for Service ${JSON.stringify(name)}: range is full`);
  }

  /** The server's own range first, then those that people have added and that are ready. */
  #rangesOf(family: IpFamily): readonly AddressRange[] {
    const own = this.#network.addresses.filter((one) => one.family === family);
    const cidrs = this.#cacheOf(ServiceCIDR);
    const added = [...cidrs.range(cidrs.prefix)]
      .map(([, { object }]) => object as ApiObject & ServiceCIDR)
      .filter(isInUse)
      .flatMap(({ spec }) => (spec.cidrs ?? []).flatMap((text) => rangeOf(text) ?? []))
      .filter((range) => range.family === family && own.every(({ text }) => text !== range.text));
    return [...own, ...added];
  }

  /** Whether somebody else has put the address into the API. */
  #isOfOthers(thing: string): boolean {
    const cache = this.#cacheOf(IPAddress);
    const present = cache.get(cache.prefix + thing);
    return present !== undefined && present.object.metadata.labels?.[managedByLabel] !== addressAllocator;
  }
}

interface Taking {
  readonly claim: HoldingClaim;
  readonly name: string;
  isTaken(thing: string): boolean;
  refuse(...problems: readonly Problem[]): ApiError;
}

function heldBy({ spec }: ApiObject): readonly string[] {
  const { clusterIPs = [], ports = [], healthCheckNodePort = 0 }: ServiceSpec = spec;
  return [
    ...clusterIPs.filter((ip) => ip !== "None").map(canonicalIp),
    ...new Set(
      [...ports.map(({ nodePort = 0 }) => nodePort), healthCheckNodePort].filter((port) => port !== 0).map(String),
    ),
  ];
}
