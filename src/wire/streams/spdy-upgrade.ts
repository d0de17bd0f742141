import type { HttpResponse } from "../http.ts";
import type { ByteStream } from "./byte-stream.ts";
import { isUpgradeRequest, refusal } from "./websocket.ts";

export interface SpdyUpgradeOptions {
  readonly protocols: readonly string[];
  readonly serve: (connection: ByteStream, protocol: string) => Promise<void>;
}

/** The answer to a client that asks for SPDY/3.1: the switch, or why not. The client's order of protocols decides. */
export function acceptSpdy(
  headers: Readonly<Record<string, string | undefined>>,
  { protocols, serve }: SpdyUpgradeOptions,
): HttpResponse {
  const offered = headers["x-stream-protocol-version"];
  if (offered === undefined)
    return refusal(
      400,
      `unable to upgrade: header X-Stream-Protocol-Version does not exist in request with ${Object.keys(headers).length} headers`,
    );
  const names = offered.split(",").map((name) => name.trim());
  const protocol = names.find((name) => protocols.includes(name));
  if (protocol === undefined)
    return refusal(
      403,
      `unable to upgrade: unable to negotiate protocol: client supports [${names.join(" ")}], server accepts [${protocols.join(" ")}]`,
      { "x-accepted-stream-protocol-versions": protocols.join(", ") },
    );
  if (!isUpgradeRequest({ headers }) || !headers.upgrade?.toLowerCase().includes("spdy/3.1"))
    return refusal(400, "unable to upgrade: missing upgrade headers in request");
  return {
    code: 101,
    headers: { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": protocol },
    body: "",
    upgraded: (connection) => serve(connection, protocol),
  };
}
