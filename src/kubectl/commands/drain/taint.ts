// Upstream: kubectl/pkg/cmd/taint.
import { isObject } from "#base/is-object.ts";
import { labelValue, qualifiedName } from "#schema/formats.ts";
import { command } from "../../command.ts";
import { KubectlError, throwAll, usageError } from "../../errors.ts";
import type { FlagDeclarations } from "../../flags.ts";
import { outputPrinter } from "../../printers/output.ts";
import { patchInfo, type ResourceInfo, stringIn } from "../../resources/resource-info.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import type { KubeObject } from "../../rest/client.ts";
import { specOf } from "../../workloads/pods.ts";
import { fieldManagerFlag, printObject, validateFlag, writeSettings, writtenFlags } from "../../write-options.ts";

interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

const flags = {
  ...writtenFlags,
  ...validateFlag,
  ...fieldManagerFlag("kubectl-taint"),
  all: { type: "bool", help: "All nodes of the cluster." },
  overwrite: { type: "bool", help: "Replace taints of the same key and effect." },
  selector: { type: "string", short: "l", help: "Nodes with labels like this." },
} as const satisfies FlagDeclarations;

export const taint = command({
  use: "taint NODE NAME KEY_1=VAL_1:TAINT_EFFECT_1 ... KEY_N=VAL_N:TAINT_EFFECT_N",
  long: "Add taints to nodes, change them, or take them away with a dash behind them. The effect is NoSchedule, PreferNoSchedule or NoExecute.",
  examples: `# Only pods that tolerate it
kubectl taint nodes worker-1 dedicated=team:NoSchedule

# Take it away again
kubectl taint nodes worker-1 dedicated=team:NoSchedule-`,
  flags,
  async run(session, args, flags, { commandPath }) {
    const { names, changes } = splitTaints(args);
    const [type = "", ...nodes] = names;
    if (names.length === 0) throw new KubectlError("one or more resources must be specified as <resource> <name>");
    if (changes.length === 0) throw new KubectlError("at least one taint update is required");
    const { added, removed } = parseChanges(changes, commandPath);
    const mapping = await (await session.mapper()).resourceFor(type.toLowerCase());
    if (mapping.kind !== "Node")
      throw new KubectlError(`invalid resource type ${type.toLowerCase()}, only node types are supported`);
    checkConflicts(added, removed);
    if (flags.all && flags.selector !== "")
      throw new KubectlError("setting 'all' parameter with a non empty selector is prohibited");
    if (!flags.all && flags.selector === "" && nodes.length === 0)
      throw new KubectlError("at least one resource name must be specified since 'all' parameter is not set");
    const selected = flags.all || flags.selector !== "";
    const query = await ResourceQuery.of(session, {
      ...(selected
        ? { args: ["node"], selectAll: flags.all, labelSelector: flags.selector }
        : { args: nodes, defaultType: "node" }),
      continueOnError: true,
      flatten: true,
    });
    await query.visit(async (info) => {
      const { operation, taints } = changed(info, added, removed, flags.overwrite);
      const { dryRun, options } = writeSettings(session, flags, operation);
      // A dry run is not told as one: as upstream does it.
      const printer = outputPrinter(flags, { operation, cwd: session.io.cwd });
      const patch = JSON.stringify({ spec: { taints: taints.length === 0 ? null : taints } });
      const whole = { ...info.object, spec: { ...specOf(info.object ?? {}), taints } } as KubeObject;
      const answer =
        dryRun === "client"
          ? whole
          : await patchInfo(await session.client(), info, "application/strategic-merge-patch+json", patch, options);
      printObject(session, printer, answer);
    });
  },
});

/** What contains `=` or `:`, or ends with a dash, is a taint; names come before. */
function splitTaints(args: readonly string[]): {
  readonly names: readonly string[];
  readonly changes: readonly string[];
} {
  const isTaint = (arg: string) => /[=:]|-$/.test(arg);
  const first = args.findIndex(isTaint);
  const [names, changes] = first < 0 ? [args, []] : [args.slice(0, first), args.slice(first)];
  const late = changes.find((arg) => !isTaint(arg));
  if (late !== undefined) throw new KubectlError(`all resources must be specified before taint changes: ${late}`);
  return { names, changes };
}

function parseChanges(
  changes: readonly string[],
  commandPath: string,
): { readonly added: readonly Taint[]; readonly removed: readonly Taint[] } {
  const added: Taint[] = [];
  const removed: Taint[] = [];
  const wrong = (text: string) => usageError(text, commandPath);
  for (const change of changes) {
    const one = parseTaint(change.replace(/-$/, ""), wrong);
    if (change.endsWith("-")) {
      removed.push({ key: one.key, effect: one.effect });
      continue;
    }
    if (one.effect === "") throw wrong(`invalid taint spec: ${change}`);
    if (added.some((other) => other.key === one.key && other.effect === one.effect))
      throw wrong(
        `duplicated taints with the same key and effect: {${one.key} ${one.value ?? ""} ${one.effect} <nil>}`,
      );
    added.push(one);
  }
  return { added, removed };
}

function parseTaint(text: string, wrong: (text: string) => Error): Taint {
  const [subject = "", effect = "", ...more] = text.split(":");
  const [key = "", value, ...rest] = text.includes(":") ? subject.split("=") : [subject];
  if (more.length > 0) throw wrong(`invalid taint spec: ${text}`);
  if (text.includes(":") && !["NoSchedule", "PreferNoSchedule", "NoExecute"].includes(effect))
    throw wrong(`invalid taint effect: ${effect}, unsupported taint effect`);
  if (rest.length > 0) throw wrong(`invalid taint spec: ${text}`);
  const problems = [...(value === undefined ? [] : problemsOf(labelValue(value))), ...problemsOf(qualifiedName(key))];
  if (problems.length > 0) throw wrong(`invalid taint spec: ${text}, ${problems.join("; ")}`);
  return { key, ...(value && { value }), effect };
}

const problemsOf = (problems: Iterable<string> | string | undefined): readonly string[] =>
  problems === undefined ? [] : typeof problems === "string" ? [problems] : [...problems];

function checkConflicts(added: readonly Taint[], removed: readonly Taint[]): void {
  const both = added.flatMap((one) =>
    removed
      .filter((other) => other.key === one.key && (other.effect === "" || other.effect === one.effect))
      .map(({ key, effect }) => `${key}=${effect}`),
  );
  if (both.length > 0)
    throw new KubectlError(
      `can not both modify and remove the following taint(s) in the same command: ${both.join(", ")}`,
    );
}

/** Throws KubectlError for taints that are there already, or that are not there to be removed. */
function changed(
  { name, object }: ResourceInfo,
  added: readonly Taint[],
  removed: readonly Taint[],
  isOverwritten: boolean,
): { readonly operation: string; readonly taints: readonly Taint[] } {
  const { taints } = specOf(object ?? {});
  const old = (Array.isArray(taints) ? taints.filter(isObject) : []).map((one) => ({
    ...one,
    key: stringIn(one.key),
    effect: stringIn(one.effect),
  }));
  const isSame = (a: Taint, b: Taint) => a.key === b.key && a.effect === b.effect;
  const present = added.filter((one) => old.some((other) => isSame(one, other)));
  if (!isOverwritten && present.length > 0)
    throw new KubectlError(
      `node ${name} already has ${present.map(({ key }) => key).join(",")} taint(s) with same effect(s) and --overwrite is false`,
    );
  const merged = [...added, ...old.filter((one) => !added.some((other) => isSame(one, other)))];
  const isAdded = merged.length !== old.length;
  const isMeant = (one: Taint, other: Taint) =>
    one.key === other.key && (other.effect === "" || one.effect === other.effect);
  throwAll(
    removed
      .filter((one) => !merged.some((other) => isMeant(other, one)))
      .map(
        ({ key, effect }) =>
          new KubectlError(`taint ${JSON.stringify(effect === "" ? key : `${key}:${effect}`)} not found`),
      ),
  );
  const left = merged.filter((one) => !removed.some((other) => isMeant(one, other)));
  const isRemoved = left.length !== merged.length;
  const operation = (isAdded && isRemoved) || isOverwritten ? "modified" : isAdded ? "tainted" : "untainted";
  return { operation, taints: left };
}
