// Why a whole Gateway cannot be had.
import type { GatewayObject } from "./kinds.ts";
import type { ListenerProblem } from "./listeners.ts";

export function refusalOf({ spec }: GatewayObject): ListenerProblem | undefined {
  const { addresses = [], infrastructure, tls } = spec;
  if (infrastructure?.parametersRef)
    return { reason: "InvalidParameters", message: "infrastructure.parametersRef: there are no parameters" };
  // What was meant to keep clients out must not be left out in silence.
  if (tls?.frontend || tls?.backend)
    return { reason: "UnsupportedValue", message: "tls: certificates of clients are not supported" };
  if (addresses.length > 1)
    return { reason: "UnsupportedAddress", message: "addresses: only one address can be asked for" };
  const [address] = addresses;
  if (address && address.type !== "IPAddress")
    return { reason: "UnsupportedAddress", message: `addresses: the type ${address.type} is not supported` };
  return undefined;
}
