// Upstream: kubectl/pkg/cmd/apply/apply_view_last_applied.go.
import { printYaml } from "#wire/yaml/write.ts";
import { lastApplied } from "../../apply/client-side.ts";
import { command } from "../../command.ts";
import { KubectlError, usageError } from "../../errors.ts";
import { jsonText } from "../../resources/resource-info.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import { parseAnswer } from "../../rest/client.ts";
import { filenameFlags } from "../../write-options.ts";

export const viewLastApplied = command({
  use: "view-last-applied (TYPE [NAME | -l label] | TYPE/NAME | -f FILENAME)",
  long: "Show what the last apply noted at objects, as YAML or JSON.",
  examples: `  # What was applied last to a deployment
  kubectl apply view-last-applied deployment/web -o json`,
  flags: {
    ...filenameFlags,
    all: { type: "bool", help: "All objects of the type in the namespace." },
    output: { type: "string", short: "o", default: "yaml", help: "yaml or json." },
    selector: { type: "string", short: "l", help: "Only objects with these labels." },
  },
  run: async (session, args, flags, { commandPath }) => {
    const query = await ResourceQuery.of(session, {
      args,
      filenames: flags.filename,
      isRecursive: flags.recursive,
      kustomize: flags.kustomize,
      labelSelector: flags.selector,
      selectAll: flags.all,
      allowEmptySelector: await session.isNamespaceEnforced(),
      latest: true,
      flatten: true,
    });
    const noted: string[] = [];
    await query.visit(async ({ object, name, source }) => {
      const text = lastApplied(object);
      if (text !== undefined) noted.push(text);
      // Of an object that was named by its type, upstream says nothing.
      else if (source !== "")
        throw new KubectlError(
          `error when no last-applied-configuration annotation found on resource: ${name}\n ${JSON.stringify(source)}: <nil>`,
        );
    });
    for (const text of noted) {
      if (flags.output === "json") session.io.stdout.write(indented(text));
      else if (flags.output === "yaml") session.io.stdout.write(printYaml(parseAnswer(text)));
      else
        throw usageError(
          `Unexpected -o output mode: ${flags.output}, the flag 'output' must be one of yaml|json`,
          commandPath,
        );
    }
  },
});

/** The same text with every value on a line of its own: keys stay in their order. */
function indented(text: string): string {
  const pretty = jsonText(parseAnswer(text), 2).replace(/([[{])\s*([\]}])/g, "$1$2");
  return text.endsWith("\n") ? `${pretty}\n` : pretty;
}
