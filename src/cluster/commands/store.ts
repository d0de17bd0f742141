import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { type StoreVerb, storeVerbs } from "../store/verbs.ts";

export const store: Command = {
  use: "store VERB [ARGUMENTS]",
  help: [
    "A store is the folder of an embedded one, a snapshot file, or a real etcd as etcd://HOST:PORT[,HOST:PORT…]",
    "(etcds:// with TLS).",
    "",
    ...storeVerbs.flatMap(({ use, help }) => [`  knarr store ${use}`, ...help.map((line) => `      ${line}`), ""]),
    "Encrypted values stay as they are in snapshots and copies: keep the key (of knarr up, encryption.yaml) to read them.",
    "Errors name the file and what to do. Exit codes: 0 fine, 1 failed, 2 usage.",
  ].join("\n"),
  async run([name, ...args]) {
    const verb = storeVerbs.find((candidate) => candidate.name === name);
    if (!verb) throw new UsageError(unknownVerb(name, storeVerbs));
    await verb.run(args);
  },
};

function unknownVerb(name: string | undefined, verbs: readonly StoreVerb[]): string {
  const known = verbs.map((verb) => verb.name).join(", ");
  return name === undefined ? `store: say what to do: ${known}` : `store: unknown verb "${name}"; there are ${known}`;
}
