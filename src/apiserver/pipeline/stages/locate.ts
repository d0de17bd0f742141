import { connectorOf } from "../../connect/connect.ts";
import { parseResourcePath, verbOf } from "../../request-path.ts";
import type { Stage } from "../pipeline.ts";

/** What the path means. */
export const locateStage: Stage = {
  name: "locate",
  pass(call) {
    if (!call.over) return undefined;
    const { method, path, query } = call.over.http;
    const address = parseResourcePath(path);
    if (!address) return undefined;
    const connector = connectorOf(address);
    call.target = connector
      ? { type: "connection", address, connector }
      : { type: "resource", address, verb: verbOf(method, address, query) };
    return undefined;
  },
};
