// One request to a server process, as its administrator.
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import type { ServerProcess } from "./harness.ts";

export interface CallAnswer<T> {
  readonly code: number;
  readonly json: T;
}

export type Caller = <T = unknown>(method: string, path: string, body?: object) => Promise<CallAnswer<T>>;

/** Connections are kept, and end with the server. */
export function callerOf(server: ServerProcess): Caller {
  const [ca, cert, key] = (["ca.crt", "admin.crt", "admin.key"] as const).map((name) =>
    readFileSync(server.file(name)),
  );
  const agent = new Agent({ keepAlive: true, ca, cert, key });
  return async <T>(method: string, path: string, body?: object) => {
    const asked = request(`${server.url}${path}`, { agent, method, headers: { "content-type": "application/json" } });
    asked.end(body && JSON.stringify(body));
    const [code, json] = await new Promise<[number, string]>((resolve, reject) => {
      asked.once("error", reject);
      asked.once("response", (response) =>
        text(response).then((json) => resolve([response.statusCode ?? 0, json]), reject),
      );
    });
    return { code, json: JSON.parse(json) as T };
  };
}
