// From what the proxy does to what it is to do: what can be said to it while it runs, or that it needs another configuration.
import type { ProxyServer, ProxyState } from "../proxy-state.ts";
import { certificateLine, serverName, serverText } from "./config.ts";
import { certificateList, certificatePath, type MapName, mapNames, mapOf, mapPath } from "./places.ts";

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
  if (!hasSamePorts(before, after)) return none;
  const servers = serverSteps(before, after, folder);
  if (!servers) return none;
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

/** Ports, and what is done at them, are the configuration's. */
function hasSamePorts(before: ProxyState, after: ProxyState): boolean {
  const lists = ({ certificateLists, frontends }: ProxyState) =>
    // The first certificate of a list that is not strict is for all other names.
    frontends.map(({ id, isStrict }) => (isStrict ? "" : certificateLists.get(id)?.keys().next().value));
  return (
    before.frontends.length === after.frontends.length &&
    (before.frontends.length === 0 ||
      JSON.stringify([before.frontends, lists(before)]) === JSON.stringify([after.frontends, lists(after)]))
  );
}

/** Undefined if a server is to be spoken to in another way: one that has requests cannot be replaced at once. */
function serverSteps(before: ProxyState, after: ProxyState, folder: string) {
  const adding: RuntimeCommand[] = [];
  const removing: RuntimeCommand[] = [];
  const leaving: string[] = [];
  for (const [id, { servers }] of after.backends) {
    const present = before.backends.get(id)?.servers ?? new Map<string, ProxyServer>();
    for (const [address, server] of servers) {
      const known = present.get(address);
      const name = `${id}/${serverName(address)}`;
      const weighing = { text: `set server ${name} weight ${server.weight}`, expected: silent };
      if (known) {
        if (known.protocol !== server.protocol) return undefined;
        if (known.weight !== server.weight) adding.push(weighing);
        continue;
      }
      // One that is leaving is there already, maybe with another weight, and has only to be switched on.
      const text = `add server ${name} ${serverText(address, server, folder)}`;
      adding.push({ text, expected: /New server registered|already exists/i }, weighing, {
        text: `enable server ${name}`,
        expected: silent,
      });
    }
    for (const address of present.keys()) {
      if (servers.has(address)) continue;
      const name = `${id}/${serverName(address)}`;
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
  for (const [secret, pem] of after.certificates) {
    const known = before.certificates.get(secret);
    const path = certificatePath(folder, secret);
    if (known === undefined) adding.push({ text: `new ssl cert ${path}`, expected: /New empty certificate store/ });
    if (known === pem) continue;
    adding.push(
      { text: `set ssl cert ${path}`, payload: pem, expected: /Transaction (created|updated)/ },
      { text: `commit ssl cert ${path}`, expected: /Success/ },
    );
  }
  for (const [name, wanted] of after.certificateLists) {
    const list = certificateList(folder, name);
    const present = before.certificateLists.get(name) ?? new Map<string, readonly string[]>();
    for (const [secret, hosts] of wanted) {
      const known = present.get(secret);
      if (known?.join() === hosts.join()) continue;
      const path = certificatePath(folder, secret);
      if (known) adding.push({ text: `del ssl crt-list ${list} ${path}`, expected: /deleted/ });
      const payload = `${certificateLine(folder, secret, hosts)}\n`;
      adding.push({ text: `add ssl crt-list ${list}`, payload, expected: /Success/ });
    }
    for (const secret of present.keys())
      if (!wanted.has(secret))
        removing.push({
          text: `del ssl crt-list ${list} ${certificatePath(folder, secret)}`,
          expected: /deleted/,
        });
  }
  for (const secret of before.certificates.keys())
    if (!after.certificates.has(secret))
      removing.push({ text: `del ssl cert ${certificatePath(folder, secret)}`, expected: /deleted/ });
  return { adding, removing };
}

/** In a command, a key with other characters would have to be escaped. */
const plainKey = /^[\w.*/~@-]+$/;

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
  if (name === "patterns" || name === "wildcards") return undefined;
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
