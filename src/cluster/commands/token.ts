import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { systemClock } from "#base/clock.ts";
import { isNotFound, UsageError } from "#base/errors.ts";
import { systemRandom } from "#base/random.ts";
import { aligned } from "#cli/aligned.ts";
import type { Command } from "#cli/command.ts";
import { delayFlag } from "#cli/duration-flag.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import type { Client } from "#client/client.ts";
import { bootstrapTokenNamespace } from "#rules/bootstrap-tokens.ts";
import { humanDuration } from "#schema/columns.ts";
import { connectionFlags, withCluster } from "../cluster-connection.ts";
import { caHash, describedCluster } from "../join/discovery.ts";
import { makeToken, parseToken, secretName, tokenRow, tokenSecret } from "../join/tokens.ts";
import { ClusterFolder } from "../local/cluster-folder.ts";

const flags = {
  name: connectionFlags.name,
  "data-dir": connectionFlags["data-dir"],
  kubeconfig: connectionFlags.kubeconfig,
  context: connectionFlags.context,
  ttl: { type: "string", value: "DURATION", default: "24h", help: "How long a new token is good; 0 for ever" },
  description: { type: "string", value: "TEXT", help: "What a new token is for" },
  "control-plane": {
    type: "bool",
    default: false,
    help: "Print the command that joins a machine as a control plane; what it needs is kept for two hours, encrypted with the printed key",
  },
  "print-join-command": {
    type: "bool",
    default: false,
    help: "Print the whole command that joins a machine, not the token alone",
  },
} as const;

export const tokenCommand: Command = {
  use: "token create [TOKEN]|list|delete TOKEN... [FLAGS]",
  help: [
    "Tokens by which other machines join a cluster. Whoever has one can become a node, so let them end.",
    "",
    flagsHelp(flags),
    "",
    "Examples:",
    "  knarr token create --print-join-command",
    "  knarr token create --control-plane",
    "  knarr token list",
    "  knarr token delete abcdef",
  ].join("\n"),
  async run([verb, ...args]) {
    const { flags: asked, rest } = parseFlags(flags, args);
    const work = verbs[verb ?? ""];
    if (!work) throw new UsageError(`token: say what to do: ${Object.keys(verbs).join(", ")}`);
    await withCluster(asked, ({ client }) => work(client, rest, asked));
  },
};

type TokenSettings = ReturnType<typeof parseFlags<typeof flags>>["flags"];

const verbs: Readonly<
  Record<string, (client: Client, rest: readonly string[], asked: TokenSettings) => Promise<void>>
> = {
  create,
  list: async (client) => list(client),
  delete: async (client, rest) => remove(client, rest),
};

async function create(client: Client, [given, ...more]: readonly string[], asked: TokenSettings): Promise<void> {
  if (more.length > 0) throw new UsageError("token create takes at most one token");
  const token = given === undefined ? makeToken(systemRandom) : parseToken(given);
  const ttlMs = asked.ttl === "0" ? 0 : delayFlag("ttl", asked.ttl);
  const join = await joinCommand(client);
  const files = asked["control-plane"] ? await shared(asked) : undefined;
  const endsAt = ttlMs === 0 ? undefined : systemClock.now() + ttlMs;
  await client.create(Secret, tokenSecret(token, { endsAt, description: asked.description }));
  const text = `${token.id}.${token.secret}`;
  if (files) {
    const { shareFiles } = await import("../join/shared-files.ts");
    const key = await shareFiles(client, files, { clock: systemClock, random: systemRandom });
    print(`${join(text)} --control-plane --certificate-key ${key}`);
  } else print(asked["print-join-command"] ? join(text) : text);
}

/** What a control plane needs is in the folder of the cluster, and on no other machine. */
async function shared(asked: TokenSettings) {
  const place = new ClusterFolder({ name: asked.name ?? "knarr", "data-dir": asked["data-dir"] });
  place.mustExist();
  const { collectFiles } = await import("../join/shared-files.ts");
  return collectFiles(place);
}

/** Throws if nobody can join. */
async function joinCommand(client: Client): Promise<(token: string) => string> {
  const info = await client.find(ConfigMap, { namespace: "kube-public", name: "cluster-info" });
  const cluster = info && describedCluster(info.data?.kubeconfig ?? "{}");
  if (!cluster)
    throw new Error(
      'other machines cannot join this cluster: it listens on this machine alone; "knarr stop" it and "knarr up" it again with --bind-address=0.0.0.0',
    );
  const { host } = new URL(cluster.server);
  return (token) => `knarr join ${host} --token ${token} --ca-hash ${caHash(cluster.ca)}`;
}

async function list(client: Client): Promise<void> {
  const { items } = await client.list(Secret, { namespace: bootstrapTokenNamespace });
  const rows = items.flatMap((secret) => tokenRow(secret) ?? []);
  if (rows.length === 0) return print("There are no tokens.");
  const left = (endsAt: number | undefined) =>
    endsAt === undefined ? "forever" : humanDuration(Math.max(0, endsAt - systemClock.now()));
  print(
    aligned([
      ["TOKEN", "TTL", "USAGES", "DESCRIPTION"],
      ...rows.map(({ token, endsAt, usages, description }) => [token, left(endsAt), usages.join(","), description]),
    ]).join("\n"),
  );
}

async function remove(client: Client, tokens: readonly string[]): Promise<void> {
  if (tokens.length === 0) throw new UsageError("token delete takes tokens, or their first parts");
  for (const text of tokens) {
    const id = text.split(".")[0] ?? "";
    if (!/^[a-z0-9]{6}$/.test(id))
      throw new UsageError(`${JSON.stringify(text)} is neither a token nor the first part of one`);
    try {
      await client.delete(Secret, { namespace: bootstrapTokenNamespace, name: secretName(id) });
    } catch (error) {
      if (isNotFound(error)) throw new Error(`there is no token ${id}`, { cause: error });
      throw error;
    }
    print(`Token ${id} is deleted: nobody joins with it any more. Machines that have joined stay.`);
  }
}
