import { formatIp, parseIp } from "#schema/ip.ts";

/** `7.1.244.10.in-addr.arpa` is 10.244.1.7. */
export function addressOfReverse(name: string): string | undefined {
  const v4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.in-addr\.arpa$/.exec(name);
  const nibbles = /^((?:[0-9a-f]\.){32})ip6\.arpa$/.exec(name)?.[1]?.split(".").slice(0, 32).reverse().join("");
  const text = v4 ? v4.slice(1).reverse().join(".") : nibbles?.match(/.{4}/g)?.join(":");
  const address = text === undefined ? undefined : parseIp(text);
  return address && formatIp(address);
}
