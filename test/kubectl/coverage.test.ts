// Every command and every flag of kubectl has a line in the differ, or a reason why not.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FlagDeclarations } from "#kubectl/flags.ts";
import { globalFlags } from "#kubectl/global-flags.ts";
import { findCommand } from "#kubectl/main.ts";
import commands from "./cases/commands.json" with { type: "json" };
import { allBlocks, words } from "./differ.ts";

/** Commands whose work is a stream or a terminal, which has tests of its own, and those that print what is our own. */
const untestedCommands: Readonly<Record<string, string>> = {
  certificate: "prints help of its own",
  "create secret": "prints help of its own",
  "create service": "prints help of its own",
  options: "prints help of its own",
  plugin: "prints help of its own",
  "plugin list": "depends on what is on the PATH",
  set: "prints help of its own",
  completion: "prints a script of its own",
  cp: "streams, tested with containers",
  debug: "streams, tested with containers",
  help: "prints texts of its own",
  kuberc: "changes a file of its own",
  "kuberc set": "changes a file of its own",
  "kuberc view": "reads a file of its own",
  "port-forward": "streams, tested with containers",
  proxy: "serves until it is ended",
  top: "needs a server of metrics",
  "top node": "needs a server of metrics",
  "top pod": "needs a server of metrics",
};
/** Flags that mean something only in a stream or on a terminal, by command; `*` for all commands. */
const untestedFlags: Readonly<Record<string, readonly string[]>> = {
  attach: ["detach-keys", "stdin", "tty", "quiet", "pod-running-timeout"],
  exec: ["stdin", "tty", "quiet"],
  // They begin to attach, which has tests of its own.
  run: ["attach", "stdin", "tty", "rm", "leave-stdin-open", "quiet", "detach-keys", "pod-running-timeout", "timeout"],
  // They follow what does not end.
  get: ["watch-only"],
  // No kubectl takes them there.
  "api-resources": ["show-managed-fields"],
  "set selector": ["all-namespaces", "field-selector", "kustomize", "selector"],
  events: ["watch"],
  logs: ["follow", "insecure-skip-tls-verify-backend", "max-log-requests"],
  // They ask for plugins and charts, which ours does not run.
  kustomize: [
    ...["as-current-user", "enable-alpha-plugins", "env", "helm-api-versions", "helm-command", "helm-debug"],
    ...["helm-kube-version", "load-restrictor", "mount", "network", "network-name", "output"],
  ],
};

async function lineFlags(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const found = new Map<string, Set<string>>();
  for (const { lines } of allBlocks())
    for (const { text } of lines) {
      const command = await findCommand(words(text).args).catch(() => undefined);
      if (!command) continue;
      const name = command.path.replace("kubectl ", "");
      const flags: FlagDeclarations = { ...globalFlags, ...command.command.flags };
      const used = found.get(name) ?? new Set<string>();
      found.set(name, used);
      for (const arg of command.args) {
        if (arg.startsWith("--")) used.add(arg.slice(2).split("=")[0] ?? "");
        else if (/^-[A-Za-z]/.test(arg))
          for (const [flag, { short }] of Object.entries(flags)) if (short === arg[1]) used.add(flag);
      }
    }
  return found;
}

test("every command of kubectl has a line, or a reason why not", async () => {
  const found = await lineFlags();
  const missing = Object.keys(commands).filter((name) => !found.has(name) && untestedCommands[name] === undefined);
  assert.deepEqual(missing, []);
});

test("every flag of every command has a line, or a reason why not", async () => {
  const found = await lineFlags();
  const missing = Object.entries(commands)
    .filter(([name]) => untestedCommands[name] === undefined)
    .flatMap(([name, flags]) =>
      flags
        .filter((flag) => !found.get(name)?.has(flag) && !untestedFlags[name]?.includes(flag))
        .filter((flag) => !Object.hasOwn(globalFlags, flag))
        .map((flag) => `${name} --${flag}`),
    );
  assert.deepEqual(missing, []);
});
