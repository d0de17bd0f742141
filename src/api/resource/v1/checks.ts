// Rules that claims, classes and slices of devices share: names, conditions, configuration.
// Upstream: pkg/apis/resource/validation/validation.go.
import { equal, repeats } from "#base/collections.ts";
import { byteLength, cIdentifier, dns1123Label, dns1123Subdomain, qualifiedName } from "#schema/formats.ts";
import { duplicate, forbidden, invalid, type Problem, required, tooLong, tooMany } from "#schema/index.ts";
import { formatIp, parseCidr } from "#schema/ip.ts";
import { driverName, mostDriverNameBytes } from "../../storage/v1/checks.ts";

export const most = {
  requests: 32,
  constraints: 32,
  config: 32,
  selectors: 32,
  alternatives: 8,
  results: 32,
  reservedFor: 256,
  expressionBytes: 10 * 1024,
  parameterBytes: 10 * 1024,
  bindingConditions: 4,
  idBytes: 32,
};

/** `node-1/gpus`: DNS names with slashes in between. */
export function* checkPoolName(field: string, name: string): Iterable<Problem> {
  if (name === "") {
    yield required(field);
    return;
  }
  if (name.length > 253) yield tooLong(field, 253);
  for (const part of name.split("/")) for (const detail of dns1123Subdomain(part)) yield invalid(field, detail, part);
}

export function* checkLabel(field: string, name: string): Iterable<Problem> {
  for (const detail of dns1123Label(name)) yield invalid(field, detail, name);
}

/** `memory`, or `example.com/memory`. */
export function* checkQualifiedName(field: string, name: string): Iterable<Problem> {
  const [first = "", second, ...more] = name.split("/");
  if (more.length > 0) return;
  if (second === undefined) yield* checkIdentifier(field, first);
  else {
    if (first === "") yield invalid(field, "the domain must not be empty", "");
    else {
      if (first.length > mostDriverNameBytes) yield tooLong(field, mostDriverNameBytes);
      for (const detail of driverName(first)) yield invalid(field, detail, first);
    }
    if (second === "") yield invalid(field, "the name must not be empty", "");
    else yield* checkIdentifier(field, second);
  }
}

export function* checkFullName(field: string, name: string): Iterable<Problem> {
  yield* checkQualifiedName(field, name);
  if (!name.includes("/"))
    yield invalid(field, "a fully qualified name must be a domain and a name separated by a slash", name);
}

function* checkIdentifier(field: string, id: string): Iterable<Problem> {
  if (id.length > most.idBytes) yield tooLong(field, most.idBytes);
  for (const detail of cIdentifier(id)) yield invalid(field, detail, id);
}

/** A list without duplicates, of at most so many items. */
export function* checkSet(field: string, keys: readonly string[], limit: number): Iterable<Problem> {
  if (keys.length > limit) {
    yield tooMany(field, keys.length, limit);
    return;
  }
  const isRepeated = repeats<string>();
  for (const [i, key] of keys.entries()) if (isRepeated(key)) yield duplicate(`${field}[${i}]`, key);
}

/** A name of a request, or of one of its alternatives as `request/alternative`. */
export function* checkRequestName(field: string, name: string, known: ReadonlySet<string>): Iterable<Problem> {
  const words = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  const parts = name.split("/");
  if (parts.length <= 2) for (const part of parts) yield* checkLabel(field, part);
  if (parts.length > 2 || !known.has(name)) yield invalid(field, words, name);
}

interface Requests {
  readonly requests: readonly {
    readonly name: string;
    readonly firstAvailable?: readonly { readonly name: string }[] | undefined;
  }[];
}

export const requestNames = ({ requests }: Requests): ReadonlySet<string> =>
  new Set(
    requests.flatMap(({ name, firstAvailable = [] }) => [name, ...firstAvailable.map((one) => `${name}/${one.name}`)]),
  );

interface Bindings {
  readonly bindingConditions?: readonly string[] | undefined;
  readonly bindingFailureConditions?: readonly string[] | undefined;
}

/** Conditions to wait for before a pod is bound, and conditions that end the wait: both or none. */
export function* checkBindings({
  bindingConditions: good = [],
  bindingFailureConditions: bad = [],
}: Bindings): Iterable<Problem> {
  const lists = { bindingConditions: good, bindingFailureConditions: bad };
  for (const [field, conditions] of Object.entries(lists)) {
    if (conditions.length > most.bindingConditions) yield tooMany(field, conditions.length, most.bindingConditions);
    const isRepeated = repeats<string>();
    for (const [i, condition] of conditions.entries()) {
      for (const detail of qualifiedName(condition)) yield invalid(`${field}[${i}]`, detail);
      if (isRepeated(condition)) yield duplicate(`${field}[${i}]`);
    }
  }
  const allGood = new Set(good);
  for (const [i, condition] of bad.entries())
    if (allGood.has(condition))
      yield invalid(
        `bindingFailureConditions[${i}]`,
        "bindingFailureConditions must not overlap with bindingConditions",
      );
  if (good.length === 0 && bad.length > 0)
    yield invalid("bindingConditions", "bindingConditions are required to use bindingFailureConditions");
  if (bad.length === 0 && good.length > 0)
    yield invalid("bindingFailureConditions", "bindingFailureConditions are required to use bindingConditions");
}

/** An object of a driver's own making. */
export function* checkRaw(field: string, value: unknown, limit: number): Iterable<Problem> {
  if (value === undefined || value === null) yield required(field);
  else if (byteLength(JSON.stringify(value)) > limit) yield tooLong(field, limit);
  else if (typeof value !== "object" || Array.isArray(value))
    yield invalid(field, "must be a valid JSON object", "<value omitted>");
}

/** `10.9.8.7/24`: an address and the prefix of its network, in the one form there is for them. */
export const interfaceAddress = (text: string): readonly string[] => {
  const parsed = parseCidr(text);
  if (!parsed) return ["must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"];
  const canonical = `${formatIp(parsed.address)}/${parsed.length}`;
  return text === canonical ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`];
};

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function* checkUid(field: string, uid: string | undefined): Iterable<Problem> {
  if (uid === undefined || uuid.test(uid)) return;
  const isUuid = uuid.test(uid.toLowerCase());
  yield invalid(
    field,
    isUuid
      ? "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters"
      : `error validating uid: invalid UUID length: ${uid.length}`,
  );
}

interface Device {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly shareID?: string | undefined;
}
const idOf = ({ driver, pool, device, shareID = "" }: Device): string => [driver, pool, device, shareID].join("/");

interface ClaimStatus {
  readonly allocation?: { readonly devices: { readonly results?: readonly Device[] | undefined } } | undefined;
  readonly reservedFor?: readonly { readonly uid: string }[] | undefined;
  readonly devices?: readonly Device[] | undefined;
}

/** Who uses a claim can only be said of one that is allocated, and an allocation stays as it is. */
export function* checkClaimStatus(
  status: ClaimStatus,
  old: ClaimStatus,
  isDeleted: boolean,
  shown: (allocation: object) => unknown,
): Iterable<Problem> {
  const { allocation, reservedFor = [], devices = [] } = status;
  yield* checkSet(
    "status.reservedFor",
    reservedFor.map(({ uid }) => uid),
    most.reservedFor,
  );
  const allocated = new Set((allocation?.devices.results ?? []).map(idOf));
  const isRepeated = repeats<string>();
  for (const [i, device] of devices.entries()) {
    if (!allocated.has(idOf(device)))
      yield invalid(
        `status.devices[${i}]`,
        "must be an allocated device in the claim",
        idOf(device).replace(/\/$/, ""),
      );
    if (isRepeated(idOf(device))) yield duplicate(`status.devices[${i}]`, idOf(device).replace(/\/$/, ""));
  }
  if (reservedFor.length > 0 && !allocation)
    yield forbidden("status.reservedFor", "may not be specified when `allocated` is not set");
  const reserved = new Map((old.reservedFor ?? []).map((one) => [one.uid, one]));
  const added = reservedFor.some((one) => !equal(one, reserved.get(one.uid)));
  if (allocation && isDeleted && added)
    yield forbidden(
      "status.reservedFor",
      "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
    );
  if (allocation && old.allocation && !equal(allocation, old.allocation))
    yield invalid("status.allocation", "field is immutable", shown(allocation));
}
