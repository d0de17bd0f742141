// IP addresses and networks in fields that are older than strict rules: what was stored once may stay.
// Upstream: pkg/apis/core/validation/validation.go and staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go.
import { cidrAnyForm, ipAnyForm } from "#schema/formats.ts";
import { invalid, type Problem } from "#schema/index.ts";
import { type Ip, parseIp } from "#schema/ip.ts";
import { malformed } from "./problems.ts";

export function* address(at: string, ip: string, stored?: ReadonlySet<string>): Iterable<Problem> {
  if (!stored?.has(ip)) yield* malformed(at, ip, ipAnyForm);
}

export function* network(at: string, cidr: string, stored?: ReadonlySet<string>): Iterable<Problem> {
  if (!stored?.has(cidr)) yield* malformed(at, cidr, cidrAnyForm);
}

/** An address that traffic can be sent to. */
export function* reachable(at: string, text: string): Iterable<Problem> {
  const ip = parseIp(text);
  if (!ip) return yield invalid(at, "must be a valid IP address", text);
  if (ip.value === 0n) yield invalid(at, `may not be unspecified (${text})`, text);
  if (within(ip, "127.0.0.0", 8) || (ip.family === 6 && ip.value === 1n))
    yield invalid(at, "may not be in the loopback range (127.0.0.0/8, ::1/128)", text);
  if (within(ip, "169.254.0.0", 16) || within(ip, "fe80::", 10))
    yield invalid(at, "may not be in the link-local range (169.254.0.0/16, fe80::/10)", text);
  if (within(ip, "224.0.0.0", 24) || isLinkLocalMulticast(ip))
    yield invalid(at, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)", text);
}

function within(ip: Ip, base: string, length: number): boolean {
  const network = parseIp(base);
  const bits = ip.family === 4 ? 32 : 128;
  const shift = BigInt(bits - length);
  return network?.family === ip.family && ip.value >> shift === network.value >> shift;
}

/** The second byte's last half is the scope; 2 is the link. */
const isLinkLocalMulticast = (ip: Ip): boolean =>
  ip.family === 6 && ip.value >> 120n === 0xffn && ((ip.value >> 112n) & 0x0fn) === 2n;

/** Whether there is one address of each family and nothing else. */
export const isDualStack = (addresses: readonly string[]): boolean =>
  addresses.length === 2 && new Set(addresses.map((text) => parseIp(text)?.family)).size === 2;
