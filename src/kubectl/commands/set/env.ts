// Upstream: kubectl/pkg/cmd/set/set_env.go and kubectl/pkg/cmd/set/env/env_parse.go.
import { isObject } from "#base/is-object.ts";
import { envVarName } from "#schema/formats.ts";
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import { compareText } from "../../go/value.ts";
import { readAll } from "../../io.ts";
import { metadataOf, type ResourceInfo } from "../../resources/resource-info.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import {
  allAndSelector,
  changeAll,
  localServerRun,
  type SetRequest,
  setFlags,
  setSelectorFlag,
  setTargets,
} from "./change.ts";
import { sourceText, ValueFinder } from "./env-values.ts";
import { changedContainers, fitsPattern, withPodSpec } from "./pod-spec.ts";

export const setEnv = command({
  use: "env RESOURCE/NAME KEY_1=VAL_1 ... KEY_N=VAL_N",
  long: "Change or list the environment variables of containers. A name with a minus behind it is removed, and -e - reads them from the standard input.",
  examples: `  # A variable more for a deployment
  kubectl set env deployment/web MODE=fast

  # What variables there are
  kubectl set env deployment/web --list

  # All keys of a config map, with a prefix
  kubectl set env --from=configmap/settings --prefix=WEB_ deployment/web

  # One variable less
  kubectl set env deployment/web MODE-`,
  flags: {
    ...setFlags,
    ...setSelectorFlag,
    containers: { type: "string", short: "c", default: "*", help: "Names of containers; * stands for any text." },
    env: { type: "stringArray", short: "e", help: "A variable as NAME=VALUE; - reads them from the standard input." },
    from: { type: "string", help: "A config map or secret whose keys become variables." },
    keys: { type: "stringSlice", help: "Only these keys of it." },
    list: { type: "bool", help: "Print the variables, with the changes, and write nothing." },
    overwrite: { type: "bool", default: true, help: "Change variables that have a value already." },
    prefix: { type: "string", help: "What the names of variables begin with." },
    resolve: { type: "bool", help: "With --list, print the values that references come to." },
  },
  run: async (session, args, flags, invocation) => {
    if (flags.all && flags.selector !== "") throw new KubectlError(allAndSelector);
    const { resources, specs } = splitVariables(args);
    if (flags.local && flags["dry-run"] === "server") throw new KubectlError(localServerRun);
    if (flags.filename.length === 0 && resources.length === 0)
      throw new KubectlError("one or more resources must be specified as <resource> <name> or <resource>/<name>");
    if (flags.list && flags.output !== "") throw new KubectlError("--list and --output may not be specified together");
    if (flags.keys.length > 0 && flags.from === "")
      throw new KubectlError("when specifying --keys, a configmap or secret must be provided with --from");
    const { set, removed } = await readVariables(session, [...flags.env, ...specs]);
    if (flags.from !== "") set.push(...(await importedVariables(session, flags)));
    const variables = set.map((one) => ({ ...one, name: `${flags.prefix}${one.name}` }));
    const infos = await setTargets(session, flags.local ? [] : resources, flags);
    const isMeant = (name: string) => fitsPattern(name, flags.containers);
    const change = (object: KubeObject): KubeObject =>
      withPodSpec(object, (spec) => {
        const update = (one: KubeObject) => withVariables(one, variables, removed, flags.overwrite);
        const { spec: changed, count } = changedContainers(spec, isMeant, update);
        if (count === 0)
          session.warn(
            `${object.kind}/${metadataOf(object).name} does not have any containers matching ${JSON.stringify(flags.containers)}`,
          );
        return changed;
      });
    if (flags.list) return listVariables(session, infos, { change, isMeant, resolve: flags.resolve });
    const failure = "failed to patch env update to pod template: ";
    await changeAll(session, infos, flags, { done: "env updated", failure, change }, invocation);
  },
});

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: KubeObject;
}

const isVariable = (arg: string): boolean => /^.+=/s.test(arg) || arg.endsWith("-");

function splitVariables(args: readonly string[]): { resources: readonly string[]; specs: readonly string[] } {
  const first = args.findIndex(isVariable);
  if (first < 0) return { resources: args, specs: [] };
  const specs = args.slice(first);
  if (!specs.every(isVariable))
    throw new KubectlError(`all resources must be specified before environment changes: ${args.join(" ")}`);
  return { resources: args.slice(0, first), specs };
}

interface VariableChanges {
  readonly set: Variable[];
  readonly removed: readonly string[];
}

async function readVariables(session: Session, specs: readonly string[]): Promise<VariableChanges> {
  const set: Variable[] = [];
  const named = new Set<string>();
  const removed: string[] = [];
  for (const spec of specs) {
    const at = spec.indexOf("=");
    if (spec === "-") set.push(...variableLines(Buffer.from(await readAll(session.io.stdin)).toString("utf8")));
    else if (at >= 0) {
      const name = spec.slice(0, at);
      const problems = envVarName(name);
      if (problems.length > 0)
        throw new KubectlError(`${JSON.stringify(name)} is not a valid key name: ${problems.join(";")}`);
      named.add(name);
      set.push({ name, value: spec.slice(at + 1) });
    } else if (spec.endsWith("-")) removed.push(spec.slice(0, -1));
    else throw new KubectlError(`unknown environment variable: ${spec}`);
  }
  if (removed.some((name) => named.has(name)))
    throw new KubectlError("can not both modify and remove the same environment variable in the same command");
  return { set, removed };
}

const variableLines = (text: string): readonly Variable[] =>
  text.split(/\r?\n/).flatMap((line) => {
    const spec = line.replace(/#.*$/s, "");
    const at = spec.indexOf("=");
    return at < 0 ? [] : [{ name: spec.slice(0, at), value: spec.slice(at + 1) }];
  });

interface ImportRequest extends SetRequest {
  readonly from: string;
  readonly keys: readonly string[];
}

/** A variable for each key of the config maps and secrets, in the order of the keys. */
async function importedVariables(session: Session, request: ImportRequest): Promise<readonly Variable[]> {
  const infos = await setTargets(session, request.local ? [] : [request.from], request);
  return infos.flatMap(({ object = {}, name }) => {
    if (object.apiVersion !== "v1" || (object.kind !== "Secret" && object.kind !== "ConfigMap"))
      throw new KubectlError("unsupported resource specified in --from");
    const reference = object.kind === "Secret" ? "secretKeyRef" : "configMapKeyRef";
    const keys = Object.keys(isObject(object.data) ? object.data : {}).toSorted(compareText);
    return keys
      .filter((key) => request.keys.length === 0 || request.keys.includes(key))
      .map((key) => {
        const variable = key.replace(/[^a-zA-Z0-9_]/g, "_").toUpperCase();
        if (variable !== key) session.warn(`key ${key} transferred to ${variable}`);
        return { name: variable, valueFrom: { [reference]: { key, name } } };
      });
  });
}

/** What is set takes the place of all of its name, and what is removed wins. Throws KubectlError if it may not be changed. */
function withVariables(
  container: KubeObject,
  set: readonly Variable[],
  removed: readonly string[],
  overwrite: boolean,
): KubeObject {
  const now = (Array.isArray(container.env) ? container.env : []) as readonly Variable[];
  for (const { name, value = "" } of overwrite ? [] : set) {
    const known = now.find((one) => one.name === name);
    if (known && (known.value ?? "") !== value)
      throw new KubectlError(`'${name}' already has a value (${known.value ?? ""}), and --overwrite is false`);
  }
  const covered = new Set(removed);
  const env: Variable[] = [];
  for (const one of now) {
    if (covered.has(one.name)) continue;
    const newer = set.find(({ name }) => name === one.name);
    if (newer) covered.add(one.name);
    env.push(newer ?? one);
  }
  for (const one of set) {
    if (covered.has(one.name)) continue;
    covered.add(one.name);
    env.push(one);
  }
  const { env: _, ...others } = container;
  const written = env.map(({ value, ...one }) => ({ ...one, ...(value && { value }) }));
  return written.length === 0 ? others : { ...others, env: written };
}

interface ListRequest {
  readonly resolve: boolean;
  change(object: KubeObject): KubeObject;
  isMeant(name: string): boolean;
}

/** Prints the variables of each container. As upstream's, it does not fail for a reference that leads nowhere. */
async function listVariables(session: Session, infos: readonly ResourceInfo[], request: ListRequest): Promise<void> {
  const finder = new ValueFinder(session);
  for (const { object: before = {} } of infos) {
    let object: KubeObject;
    const meant: KubeObject[] = [];
    try {
      object = request.change(before);
      withPodSpec(
        object,
        (spec) =>
          changedContainers(spec, request.isMeant, (one) => {
            meant.push(one);
            return one;
          }).spec,
      );
    } catch (error) {
      if (error instanceof KubectlError) continue; // upstream lists what it can
      throw error;
    }
    for (const container of meant) {
      session.print(`# ${object.kind} ${metadataOf(object).name}, container ${container.name}`);
      await listContainer(session, finder, object, container, request.resolve);
    }
  }
}

async function listContainer(
  session: Session,
  finder: ValueFinder,
  object: KubeObject,
  container: KubeObject,
  resolve: boolean,
): Promise<void> {
  const failures = new Map<string, string[]>();
  for (const { name, value = "", valueFrom } of (Array.isArray(container.env) ? container.env : []) as Variable[]) {
    if (!valueFrom) {
      session.print(`${name}=${value}`);
      continue;
    }
    try {
      if (resolve) {
        session.print(`${name}=${await finder.valueOf(valueFrom, object, container)}`);
        continue;
      }
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      failures.set(error.message, [...(failures.get(error.message) ?? []), name]);
    }
    session.print(`# ${name} from ${sourceText(valueFrom)}`);
  }
  const lines = [...failures].map(
    ([message, names]) => `error retrieving reference for ${names.toSorted(compareText).join(", ")}: ${message}`,
  );
  for (const line of lines.toSorted(compareText)) session.printError(line);
}
