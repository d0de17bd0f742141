// Warnings about addresses and networks that are accepted, but should be written otherwise.
// Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go.
import { formatIp, parseCidr, parseIp } from "#schema/ip.ts";

const quoted = JSON.stringify;

/** Spellings that some readers take for another address, or for none. */
export function* ipWarnings(at: string, text: string): Iterable<string> {
  const ip = parseIp(text);
  if (!ip) return;
  if (ip.family === 4 && !ip.leadingZeros && !ip.mapped) return;
  const usual = formatIp(ip);
  if (ip.leadingZeros || ip.mapped)
    yield `${at}: non-standard IP address ${quoted(text)} is invalid: use ${quoted(usual)}`;
  else if (usual !== text)
    yield `${at}: IPv6 address ${quoted(text)} should be in RFC 5952 canonical format (${quoted(usual)})`;
}

/** The same of networks, and addresses of hosts where a network is meant. */
export function* networkWarnings(at: string, text: string): Iterable<string> {
  const cidr = parseCidr(text);
  if (!cidr) return;
  const { address, length, network } = cidr;
  const { family } = address;
  const isAmbiguous = address.value !== network;
  const isOdd = cidr.leadingZeros || address.mapped;
  if (family === 4 && !isAmbiguous && !isOdd) return;
  const usual = `${formatIp({ family, value: network })}/${length}`;
  if (isAmbiguous)
    yield `${at}: CIDR value ${quoted(text)} is ambiguous in this context (should be ${quoted(usual)} or ${quoted(`${formatIp(address)}/${family === 4 ? 32 : 128}`)}?)`;
  if (isOdd) yield `${at}: non-standard CIDR value ${quoted(text)} is invalid: use ${quoted(usual)}`;
  if (!isAmbiguous && !isOdd && usual !== text)
    yield `${at}: IPv6 CIDR value ${quoted(text)} should be in RFC 5952 canonical format (${quoted(usual)})`;
}
