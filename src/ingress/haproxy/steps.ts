// From what the proxy does to what it is to do: what can be said to it while it runs, or that it needs another configuration.
import type { ProxyState } from "../proxy-state.ts";
import {
  certificateLine,
  certificateList,
  certificatePath,
  type MapName,
  mapNames,
  mapOf,
  mapPath,
  serverName,
  serverOptions,
} from "./config.ts";

/** A command of the runtime API. One that is not answered as expected has failed. */
export interface RuntimeCommand {
  readonly text: string;
  /** Lines that follow it. */
  readonly payload?: string;
  readonly expected: RegExp;
}

export interface ProxySteps {
  /** Whether only a reload will do; then there are no commands. */
  readonly needsReload: boolean;
  readonly commands: readonly RuntimeCommand[];
  /** Servers that take no new requests and can be deleted once their last one is over: `backend/server`. */
  readonly leaving: readonly string[];
}

const silent = /^\s*$/;
/** What fits into a buffer of the proxy, with the command. */
const payloadBytes = 16_384;

/** New servers and certificates first, then the routes to them, then what nobody needs any more. */
export function stepsBetween(before: ProxyState, after: ProxyState, folder: string): ProxySteps {
  const none: ProxySteps = { needsReload: true, commands: [], leaving: [] };
  // The name of a backend says all that only a configuration can change of it (routes.ts).
  if (before.backends.size !== after.backends.size) return none;
  for (const id of after.backends.keys()) if (!before.backends.has(id)) return none;
  const servers = serverSteps(before, after);
  const certificates = certificateSteps(before, after, folder);
  const maps: RuntimeCommand[] = [];
  for (const name of mapNames) {
    const steps = mapSteps(name, mapOf(before, name), mapOf(after, name), folder);
    if (!steps) return none;
    maps.push(...steps);
  }
  return {
    needsReload: false,
    commands: [...servers.adding, ...certificates.adding, ...maps, ...servers.removing, ...certificates.removing],
    leaving: servers.leaving,
  };
}

function serverSteps(before: ProxyState, after: ProxyState) {
  const adding: RuntimeCommand[] = [];
  const removing: RuntimeCommand[] = [];
  const leaving: string[] = [];
  for (const [id, { servers, options }] of after.backends) {
    const present = before.backends.get(id)?.servers ?? new Set<string>();
    for (const server of servers) {
      if (present.has(server)) continue;
      const name = `${id}/${serverName(server)}`;
      // One that is leaving is there already, and has only to be switched on.
      const text = `add server ${name} ${server}${serverOptions(options)}`;
      adding.push(
        { text, expected: /New server registered|already exists/i },
        { text: `enable server ${name}`, expected: silent },
      );
    }
    for (const server of present) {
      if (servers.has(server)) continue;
      const name = `${id}/${serverName(server)}`;
      removing.push({ text: `disable server ${name}`, expected: silent });
      leaving.push(name);
    }
  }
  return { adding, removing, leaving };
}

/** Asks to delete a server that is leaving; refused while it has requests. */
export const deletion = (server: string): RuntimeCommand => ({
  text: `del server ${server}`,
  expected: /Server deleted|No such server/i,
});

function certificateSteps(before: ProxyState, after: ProxyState, folder: string) {
  const adding: RuntimeCommand[] = [];
  const removing: RuntimeCommand[] = [];
  const list = certificateList(folder);
  const put = (path: string, pem: string): readonly RuntimeCommand[] => [
    { text: `set ssl cert ${path}`, payload: pem, expected: /Transaction (created|updated)/ },
    { text: `commit ssl cert ${path}`, expected: /Success/ },
  ];
  for (const [secret, { pem, hosts }] of after.certificates) {
    const known = before.certificates.get(secret);
    const path = certificatePath(folder, secret);
    if (!known) adding.push({ text: `new ssl cert ${path}`, expected: /New empty certificate store/ });
    if (known?.pem !== pem) adding.push(...put(path, pem));
    if (known?.hosts.join() === hosts.join()) continue;
    if (known) adding.push({ text: `del ssl crt-list ${list} ${path}`, expected: /deleted/ });
    adding.push({
      text: `add ssl crt-list ${list}`,
      payload: `${certificateLine(folder, secret, hosts)}\n`,
      expected: /Success/,
    });
  }
  for (const secret of before.certificates.keys()) {
    if (after.certificates.has(secret)) continue;
    const path = certificatePath(folder, secret);
    removing.push(
      { text: `del ssl crt-list ${list} ${path}`, expected: /deleted/ },
      { text: `del ssl cert ${path}`, expected: /deleted/ },
    );
  }
  return { adding, removing };
}

/** In a command, a key with other characters would have to be escaped. */
const plainKey = /^[\w.*/~-]+$/;

/** Undefined if only another configuration will do: where the order counts, or where a key has unusual characters. */
function mapSteps(
  name: MapName,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
  folder: string,
): readonly RuntimeCommand[] | undefined {
  const path = mapPath(folder, name);
  const added: [string, string][] = [];
  const changed: [string, string][] = [];
  const removed: string[] = [];
  for (const [key, value] of after) {
    const present = before.get(key);
    if (present === undefined) added.push([key, value]);
    else if (present !== value) changed.push([key, value]);
  }
  if (before.size + added.length !== after.size)
    for (const key of before.keys()) if (!after.has(key)) removed.push(key);
  if (added.length + changed.length + removed.length === 0) return [];
  if (name === "patterns") return undefined;
  if ([...changed.map(([key]) => key), ...removed].some((key) => !plainKey.test(key))) return undefined;
  return [
    ...chunks(added.map(([key, value]) => `${key} ${value}\n`)).map((payload) => ({
      text: `add map ${path}`,
      payload,
      expected: silent,
    })),
    ...changed.map(([key, value]) => ({ text: `set map ${path} ${key} ${value}`, expected: silent })),
    ...removed.map((key) => ({ text: `del map ${path} ${key}`, expected: silent })),
  ];
}

function chunks(lines: readonly string[]): readonly string[] {
  const result: string[] = [];
  let chunk = "";
  for (const line of lines) {
    if (chunk !== "" && chunk.length + line.length > payloadBytes) {
      result.push(chunk);
      chunk = "";
    }
    chunk += line;
  }
  return chunk === "" ? result : [...result, chunk];
}
