// Gives services their addresses and node ports.
import { Service, type ServiceSpec } from "#api/core/v1/service.ts";
import type { ApiError } from "#base/errors.ts";
import type { Random } from "#base/random.ts";
import { invalid, type Mutable, type Problem } from "#schema/index.ts";
import { formatIp, parseIp } from "#schema/ip.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { internalError, invalidObject } from "#wire/status.ts";
import type { Reservation, Reserver, ReserverParts } from "../../registry/reservation.ts";
import { keepsPreference, settleFamilies } from "./families.ts";
import { type Claim, Holdings } from "./holdings.ts";
import { takeNodePorts } from "./node-ports.ts";
import { keepAllocated, settleAddresses } from "./omitted.ts";
import { canonicalIp, freeNumber, type IpFamily, isWithin, type ServiceNetwork } from "./ranges.ts";

export class ServiceReserver implements Reserver {
  readonly #network: ServiceNetwork;
  readonly #families: readonly [IpFamily, ...IpFamily[]];
  readonly #random: Random;
  readonly #holdings: Holdings;

  constructor({ network, random, ...parts }: ReserverParts) {
    this.#network = network;
    const [main, ...others] = network.addresses;
    this.#families = [main.family, ...others.map(({ family }) => family)];
    this.#random = random;
    this.#holdings = new Holdings(parts, heldBy).follow();
  }

  isHeld(thing: string): boolean {
    return this.#holdings.isHeld(thing);
  }

  reserve(object: DraftObject, old: ApiObject | undefined, elsewhere: ReadonlySet<string> = new Set()): Reservation {
    const spec: Mutable<ServiceSpec> = object.spec;
    const before: ServiceSpec | undefined = old?.spec;
    const refuse = (...problems: readonly Problem[]) => invalidObject(Service, object.metadata.name ?? "", problems);
    if (before) keepAllocated(spec, before);
    settleAddresses(spec, before);
    const problems = settleFamilies(spec, before, this.#families);
    if (problems.length > 0) throw refuse(...problems);
    const claim = this.#holdings.claim();
    const isTaken = (thing: string) => elsewhere.has(thing) || this.#holdings.isTaken(thing);
    try {
      this.#takeAddresses(spec, before, { claim, refuse, isTaken, name: object.metadata.name ?? "" });
      takeNodePorts(spec, before, {
        claim,
        refuse,
        range: this.#network.nodePorts,
        random: this.#random,
        isTaken,
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

  #take(family: IpFamily, asked: string, spec: ServiceSpec, { claim, refuse, isTaken, name }: Taking): string {
    const range = this.#network.addresses.find((one) => one.family === family);
    if (!range) throw new Error(`${family} was not found missing in time`);
    const bits = range.family === "IPv4" ? 4 : 6;
    if (asked !== "") {
      const ip = parseIp(asked);
      const why =
        ip?.family !== bits || !isWithin(range, ip.value)
          ? "the provided network does not match the current range"
          : isTaken(canonicalIp(asked))
            ? "provided IP is already allocated"
            : undefined;
      if (why) throw refuse(invalid("spec.clusterIPs", `failed to allocate IP ${asked}: ${why}`, spec.clusterIPs));
      claim.take(canonicalIp(asked));
      return asked;
    }
    const text = (value: bigint) => formatIp({ family: bits, value });
    const free = freeNumber(range, (value) => isTaken(text(value)), this.#random);
    if (free === undefined)
      throw internalError(`failed to allocate a serviceIP for Service ${JSON.stringify(name)}: range is full`);
    claim.take(text(free));
    return text(free);
  }
}

interface Taking {
  readonly claim: Claim;
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
