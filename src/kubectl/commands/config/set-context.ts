import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import { entryIn, startingConfig, writeEntry } from "./config-files.ts";
import { unexpectedArguments } from "./contexts.ts";

export const setContext = command({
  use: "set-context [NAME | --current] [--cluster=cluster_nickname] [--user=user_nickname] [--namespace=namespace]",
  flags: {
    cluster: { type: "string", help: "The cluster of the context." },
    current: { type: "bool", help: "Change the current context." },
    namespace: { type: "string", short: "n", help: "The namespace of the context." },
    user: { type: "string", help: "The user of the context." },
  },
  async run(session, args, flags, { changed }) {
    if (args.length > 1) throw unexpectedArguments(session, args, "set-context [NAME | --current]");
    const [given = ""] = args;
    if (given !== "" && flags.current) throw new KubectlError("you cannot specify both a context name and --current");
    if (given === "" && !flags.current)
      throw new KubectlError("you must specify a non-empty context name or --current");
    const config = await startingConfig(session);
    const name = flags.current ? config["current-context"] : given;
    if (name === "") throw new KubectlError("no current context is set");
    const known = entryIn(config, "contexts", name);
    const context: Record<string, unknown> = { cluster: "", user: "", ...known };
    for (const field of ["cluster", "user", "namespace"] as const)
      if (changed.has(field)) context[field] = flags[field];
    if (context.namespace === "") delete context.namespace;
    await writeEntry(session, "contexts", name, context);
    session.print(`Context ${JSON.stringify(name)} ${known ? "modified" : "created"}.`);
  },
});
