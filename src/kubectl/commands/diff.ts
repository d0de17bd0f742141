// Upstream: kubectl/pkg/cmd/diff.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isConflict, isNotFound } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { printYaml } from "#wire/yaml/write.ts";
import { patchApplied } from "../apply/client-side.ts";
import { allowedMappings, prunable, prunedMappings } from "../apply/prune.ts";
import { sendApply, serverSideManager } from "../apply/server-side.ts";
import { command } from "../command.ts";
import { ExitError, KubectlError, reportOf, usageError } from "../errors.ts";
import type { FlagDeclarations, ParsedFlags } from "../flags.ts";
import { klogLine } from "../klog.ts";
import { createInfo, getInfo, metadataOf, type ResourceInfo } from "../resources/resource-info.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import { type KubeObject, parseAnswer } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { appliedConfiguration, filenameFlags } from "../write-options.ts";
import { serverSideFlags } from "./apply/flags.ts";

const diffFlags = {
  ...filenameFlags,
  ...serverSideFlags,
  concurrency: { type: "int", default: 1, help: "Objects that are looked at in parallel." },
  prune: { type: "bool", help: "Show also what pruning would delete." },
  "prune-allowlist": { type: "stringArray", help: "Kind to prune, as group/version/kind; can be repeated." },
  selector: { type: "string", short: "l", help: "Only objects with these labels." },
  "show-managed-fields": { type: "bool", help: "Compare the managed fields, too." },
  "show-secrets": { type: "bool", help: "Show what secrets hold." },
} as const satisfies FlagDeclarations;
type DiffFlags = ParsedFlags<typeof diffFlags>;

/** How often an object is read anew that keeps changing; then it is compared without a lock. */
const mostAttempts = 4;

export const diff = command({
  use: "diff -f FILENAME",
  long: "Show what apply would change, as the program diff -u -N shows it, or the one that KUBECTL_EXTERNAL_DIFF names. The exit code is 0 if there is no difference, 1 if there is one, and greater if something went wrong.",
  examples: `  # What a file would change
  kubectl diff -f pod.yaml

  # The same with another program
  KUBECTL_EXTERNAL_DIFF="colordiff -N -u" kubectl diff -f pod.yaml`,
  flags: diffFlags,
  // 1 means that there are differences.
  flagErrorCode: 2,
  run: async (session, args, flags, { commandPath, changed }) => {
    try {
      if (args.length > 0) throw usageError(`Unexpected args: [${args.join(" ")}]`, commandPath);
      if (flags.filename.length === 0 && flags.kustomize === "")
        throw new KubectlError("must specify one of -f and -k");
      if (flags["force-conflicts"] && !flags["server-side"])
        throw new KubectlError("--force-conflicts only works with --server-side");
      const isGiven = changed.has("field-manager") || !flags["server-side"];
      return await compareAll(session, flags, isGiven ? flags["field-manager"] : serverSideManager);
    } catch (error) {
      if (session.io.signal.aborted) throw error;
      // 1 means that there are differences.
      const { text, exitCode } = reportOf(error);
      throw new ExitError(Math.max(2, exitCode), text, { cause: error });
    }
  },
});

/** Writes what is and what would be into two folders, and compares those. */
async function compareAll(session: Session, flags: DiffFlags, manager: string): Promise<number> {
  const place = session.io.env.TMPDIR || tmpdir();
  const live = mkdtempSync(join(place, "LIVE-"));
  const merged = mkdtempSync(join(place, "MERGED-"));
  try {
    const allowed = flags.prune ? await allowedMappings(session, flags["prune-allowlist"]) : [];
    const query = await ResourceQuery.of(session, {
      filenames: flags.filename,
      isRecursive: flags.recursive,
      kustomize: flags.kustomize,
      labelSelector: flags.selector,
      flatten: true,
    });
    const visitedUids = new Set<unknown>();
    const namespaces = new Set<string>();
    await query.visit(async (info) => {
      const pair = await comparedPair(session, info, flags, manager);
      visitedUids.add(metadataOf(pair.live).uid);
      if (info.mapping?.isNamespaced) namespaces.add(info.namespace);
      const shown = masked(pair, flags);
      writeFileSync(join(live, fileName(info)), shown.live ? printYaml(shown.live) : "");
      writeFileSync(join(merged, fileName(info)), printYaml(shown.merged));
      if (metadataOf(pair.live).deletionTimestamp !== undefined)
        session.printError(`Warning: Detected changes to resource ${info.name} which is currently being deleted.`);
    });
    if (flags.prune) {
      const mappings = await prunedMappings(session, allowed);
      const search = { mappings, namespaces, labelSelector: flags.selector, visitedUids };
      for await (const info of prunable(await session.client(), search))
        writeFileSync(join(live, fileName(info)), printYaml(info.object));
    }
    return await runDiff(session, live, merged);
  } finally {
    for (const folder of [live, merged]) rmSync(folder, { recursive: true, force: true });
  }
}

interface ComparedPair {
  /** Undefined for what would be created. */
  readonly live: KubeObject | undefined;
  readonly merged: KubeObject;
}

async function comparedPair(
  session: Session,
  info: ResourceInfo,
  flags: DiffFlags,
  manager: string,
): Promise<ComparedPair> {
  const client = await session.client();
  const local = info.object ?? {};
  const options = { isDryRun: true, fieldManager: manager };
  for (let attempt = 1; ; attempt++) {
    const live = await getInfo(client, info).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (attempt === mostAttempts) {
      const { group = "", version = "", kind = "" } = info.mapping ?? {};
      const text = `Object (${group}/${version}, Kind=${kind}: ${info.name}) keeps changing, diffing without lock`;
      session.io.stderr.write(klogLine(session.io.clock, "W", "diff.go:675", text));
    }
    try {
      if (flags["server-side"])
        return { live, merged: await sendApply(client, info, local, options, flags["force-conflicts"]) };
      if (!live) return { live, merged: await createInfo(client, { ...info, object: local }, options) };
      const modified = withoutNote(local);
      const isLocked = attempt < mostAttempts;
      const { object } = await patchApplied(session, info, live, modified, { overwrite: true, options, isLocked });
      return { live, merged: object };
    } catch (error) {
      if (!isConflict(error) || attempt >= mostAttempts) throw error;
    }
  }
}

/** The manifest as apply would send it, but for the note of what was applied, which is no difference worth showing. */
const withoutNote = (local: KubeObject): KubeObject => parseAnswer(appliedConfiguration(local)) as KubeObject;

function fileName({ mapping, namespace, name }: ResourceInfo): string {
  const { group = "", version = "", kind = "" } = mapping ?? {};
  return `${group === "" ? "" : `${group}.`}${version}.${kind}.${namespace}.${name}`;
}

/** Without managed fields, and secrets without what they hold, unless flags ask for both. */
function masked({ live, merged }: ComparedPair, flags: DiffFlags): ComparedPair {
  const plain = (object: KubeObject | undefined): KubeObject | undefined => {
    if (!object || flags["show-managed-fields"]) return object;
    const { managedFields: _, ...metadata } = metadataOf(object);
    return { ...object, metadata };
  };
  const from = plain(live);
  const to = plain(merged) ?? merged;
  if (flags["show-secrets"] || to.apiVersion !== "v1" || to.kind !== "Secret") return { live: from, merged: to };
  const before = isObject(from?.data) ? from.data : undefined;
  const after = isObject(to.data) ? to.data : undefined;
  const mask = (data: object, other: Readonly<Record<string, unknown>> | undefined, changed: string) =>
    Object.fromEntries(
      Object.entries(data).map(([key, value]) => [
        key,
        other && Object.hasOwn(other, key) && other[key] !== value ? changed : "***",
      ]),
    );
  return {
    live: from && before ? { ...from, data: mask(before, after, "*** (before)") } : from,
    merged: after ? { ...to, data: mask(after, before, "*** (after)") } : to,
  };
}

/** 0 or 1. Throws KubectlError if the program cannot be run or fails. */
function runDiff({ io }: Session, live: string, merged: string): Promise<number> {
  const [program = "diff", ...given] = (io.env.KUBECTL_EXTERNAL_DIFF || "diff").split(" ");
  const isOwn = !io.env.KUBECTL_EXTERNAL_DIFF;
  const args = isOwn
    ? ["-u", "-N", live, merged]
    : [live, merged, ...given.filter((arg) => /^[a-zA-Z0-9-=]+$/.test(arg))];
  return new Promise((done, fail) => {
    const failed = (why: string, cause?: Error) =>
      fail(new KubectlError(`failed to run ${JSON.stringify(program)}: ${why}`, { cause }));
    const child = spawn(program, args, { cwd: io.cwd, env: io.env, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.on("data", (data: Buffer) => io.stdout.write(data));
    child.stderr.on("data", (data: Buffer) => io.stderr.write(data));
    child.on("error", (cause) => failed("executable file not found in $PATH", cause));
    child.on("close", (code) => (code !== null && code <= 1 ? done(code) : failed(`exit status ${code}`)));
  });
}
