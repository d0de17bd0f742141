// Endpoints.
// Upstream: pkg/apis/core/validation/validation.go.
import { dns1123Subdomain, qualifiedName } from "#schema/formats.ts";
import { type Problem, required } from "#schema/index.ts";
import type { EndpointAddress, EndpointSubset, Endpoints } from "../endpoints.ts";
import { address, reachable } from "./addresses.ts";
import { each, malformed } from "./problems.ts";
import { same } from "./same.ts";

export function* checkEndpoints({ subsets }: Endpoints, old: Endpoints | undefined): Iterable<Problem> {
  // What older rules let pass may stay as it is.
  if (old && same(subsets, old.subsets)) return;
  for (const [at, subset] of each("subsets", subsets)) yield* checkSubset(at, subset);
}

function* checkSubset(
  at: string,
  { addresses = [], notReadyAddresses = [], ports = [] }: EndpointSubset,
): Iterable<Problem> {
  for (const [path, one] of each(`${at}.addresses`, addresses)) yield* checkAddress(path, one);
  for (const [path, one] of each(`${at}.notReadyAddresses`, notReadyAddresses)) yield* checkAddress(path, one);
  for (const [path, { appProtocol }] of each(`${at}.ports`, ports)) {
    if (appProtocol !== undefined) yield* malformed(`${path}.appProtocol`, appProtocol, qualifiedName);
  }
}

/** Somebody must be there, and if there are several ports, they are told apart by their names. */
export function* checkParts({ addresses = [], notReadyAddresses = [], ports = [] }: EndpointSubset): Iterable<Problem> {
  if (addresses.length === 0 && notReadyAddresses.length === 0)
    yield required("", "must specify `addresses` or `notReadyAddresses`");
  for (const [at, { name }] of each("ports", ports)) if (!name && ports.length > 1) yield required(`${at}.name`);
}

function* checkAddress(at: string, { ip, nodeName }: EndpointAddress): Iterable<Problem> {
  yield* address(`${at}.ip`, ip);
  if (nodeName !== undefined) yield* malformed(`${at}.nodeName`, nodeName, dns1123Subdomain);
  yield* reachable(`${at}.ip`, ip);
}
