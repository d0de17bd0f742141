// The flags of kubeadm's static pods. That the parts work with them is in test/cluster/kubeadm.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Flags, parseFlags } from "#cli/flags.ts";
import { apiserverFlags } from "../alone/apiserver-flags.ts";
import { warnOfIneffective } from "../ineffective-flags.ts";
import { apiserver } from "./apiserver.ts";
import { controllerManagerCommand, controllerManagerFlags } from "./controller-manager.ts";
import { schedulerCommand, schedulerFlags } from "./scheduler.ts";
import { kubeadmCommands } from "./testing/kubeadm-commands.ts";

const parts: Readonly<Record<keyof ReturnType<typeof kubeadmCommands>, { flags: Flags; help: string | undefined }>> = {
  "kube-apiserver": { flags: apiserverFlags, help: apiserver.help },
  "kube-controller-manager": { flags: controllerManagerFlags, help: controllerManagerCommand.help },
  "kube-scheduler": { flags: schedulerFlags, help: schedulerCommand.help },
};

for (const [name, args] of Object.entries(kubeadmCommands()))
  test(`the command of kubeadm's ${name} is taken as it is, and --help names each of its flags`, () => {
    const { flags, help } = parts[name as keyof typeof parts];
    const { rest } = parseFlags(flags, args);
    assert.deepEqual(rest, []);
    for (const arg of args) assert.ok(help?.includes(arg.split("=")[0] ?? ""), arg);
  });

test("a flag without effect is told with what it does not do, unless it asks for what is the case", () => {
  const said: unknown[] = [];
  const log = { warn: (_message: string, fields: { readonly flag: string }) => said.push(fields.flag) };
  const settings = parseFlags(apiserverFlags, [
    "--allow-privileged=false",
    "--profiling=false",
    "--watch-cache-sizes=pods#100",
    "--storage-backend=etcd3",
  ]).flags;
  warnOfIneffective(settings, log as never);
  assert.deepEqual(said, ["--allow-privileged", "--watch-cache-sizes"]);
});
