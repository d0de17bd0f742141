import type { Kubeconfig } from "#client/kubeconfig.ts";
import { command } from "../../command.ts";
import { KubectlError, throwAll } from "../../errors.ts";
import type { Session } from "../../session.ts";
import { tableText } from "../../tab-writer.ts";
import { defaultFile, entryIn, startingConfig, writeCurrentContext, writeEntry } from "./config-files.ts";

export const currentContext = command({
  use: "current-context",
  async run(session) {
    const { "current-context": name } = await startingConfig(session);
    if (name === "") throw new KubectlError("current-context is not set");
    session.print(name);
  },
});

export const getContexts = command({
  use: "get-contexts [(-o|--output=)name)]",
  flags: {
    "no-headers": { type: "bool", help: "Leave out the headers." },
    output: { type: "string", short: "o", help: "Output format: name." },
  },
  async run(session, args, { output, "no-headers": isHeadless }) {
    if (!["", "name"].includes(output))
      throw new KubectlError(
        `--output ${output} is not available in kubectl config get-contexts; resetting to default output format`,
      );
    const config = await startingConfig(session);
    const isThere = (name: string) => config.contexts.some((one) => one.name === name);
    const names = args.length === 0 ? config.contexts.map(({ name }) => name) : args.filter(isThere);
    const rows = names.toSorted().map((name) => contextRow(config, name, output === "name"));
    const head = ["CURRENT", "NAME", "CLUSTER", "AUTHINFO", "NAMESPACE"];
    session.io.stdout.write(tableText(isHeadless || output === "name" ? rows : [head, ...rows]));
    throwAll(args.filter((name) => !isThere(name)).map((name) => new KubectlError(`context ${name} not found`)));
  },
});

function contextRow(config: Kubeconfig, name: string, isNameOnly: boolean): readonly string[] {
  if (isNameOnly) return [name];
  const { cluster = "", user = "", namespace = "" } = config.contexts.find((one) => one.name === name)?.context ?? {};
  return [config["current-context"] === name ? "*" : " ", name, cluster, user, namespace];
}

export const getClusters = command({
  use: "get-clusters",
  async run(session) {
    const { clusters } = await startingConfig(session);
    for (const name of ["NAME", ...clusters.map((one) => one.name).sort()]) session.print(name);
  },
});

export const getUsers = command({
  use: "get-users",
  async run(session) {
    const { users } = await startingConfig(session);
    for (const name of ["NAME", ...users.map((one) => one.name).sort()]) session.print(name);
  },
});

export const useContext = command({
  use: "use-context CONTEXT_NAME",
  async run(session, args) {
    if (args.length !== 1) throw unexpectedArguments(session, args, "use-context CONTEXT_NAME");
    const [name = ""] = args;
    const config = await startingConfig(session);
    if (name === "") throw new KubectlError("empty context names are not allowed");
    if (entryIn(config, "contexts", name) === undefined)
      throw new KubectlError(`no context exists with the name: ${JSON.stringify(name)}`);
    await writeCurrentContext(session, name);
    session.print(`Switched to context ${JSON.stringify(name)}.`);
  },
});

export const renameContext = command({
  use: "rename-context CONTEXT_NAME NEW_NAME",
  async run(session, args) {
    if (args.length !== 2) throw unexpectedArguments(session, args, "rename-context CONTEXT_NAME NEW_NAME");
    const [name = "", newName = ""] = args;
    if (newName === "") throw new KubectlError("You must specify a new non-empty context name");
    const config = await startingConfig(session);
    const context = entryIn(config, "contexts", name);
    if (context === undefined)
      throw new KubectlError(`cannot rename the context ${JSON.stringify(name)}, it's not in ${defaultFile(session)}`);
    if (entryIn(config, "contexts", newName) !== undefined)
      throw new KubectlError(
        `cannot rename the context ${JSON.stringify(name)}, the context ${JSON.stringify(newName)} already exists in ${defaultFile(session)}`,
      );
    await writeEntry(session, "contexts", newName, context);
    await writeEntry(session, "contexts", name, undefined);
    if (config["current-context"] === name) await writeCurrentContext(session, newName);
    session.print(`Context ${JSON.stringify(name)} renamed to ${JSON.stringify(newName)}.`);
  },
});

/** The person is shown the help besides. */
export function unexpectedArguments(session: Session, args: readonly string[], use: string): KubectlError {
  session.print(`Usage:\n  kubectl config ${use}`);
  return new KubectlError(`Unexpected args: [${args.join(" ")}]`);
}
