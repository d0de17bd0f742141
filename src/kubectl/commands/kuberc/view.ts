// Upstream: kubectl/pkg/cmd/kuberc/view.go.
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import { readAll } from "../../io.ts";
import { outputPrinter, printFlags } from "../../printers/output.ts";
import { newPreference, placeFor, readPreferenceFile, savePreferenceFile } from "./preference-file.ts";

export const view = command({
  use: "view",
  long: "Print your preferences.",
  examples: `# As YAML
kubectl kuberc view

# As JSON
kubectl kuberc view --output json

# Another file
kubectl kuberc view --kuberc ./kuberc`,
  flags: printFlags,
  async run(session, _args, flags) {
    const { path, isExplicit } = placeFor(session);
    const found = readPreferenceFile(path);
    if (!found && isExplicit) throw new KubectlError(`kuberc file not found at ${path}`);
    if (!found) {
      session.print(`kuberc file not found at ${path}`);
      session.io.stdout.write("Would you like to generate a default kuberc file with recommended options? (y/N): ");
      const typed = Buffer.from(await readAll(session.io.stdin, 1024)).toString();
      if (!/^\s*y\s*$/im.test(typed.split("\n")[0] ?? "")) return;
      savePreferenceFile(session, path, {
        ...newPreference(),
        defaults: [
          { command: "apply", options: [{ name: "server-side", default: "true" }] },
          { command: "delete", options: [{ name: "interactive", default: "true" }] },
        ],
      });
      return;
    }
    const output = flags.output || (flags.template === "" ? "yaml" : "");
    const printer = outputPrinter({ ...flags, output }, { operation: "", cwd: session.io.cwd });
    const shown = { ...found, aliases: found.aliases ?? [], defaults: found.defaults ?? [] };
    printer.print(shown, (data) => session.io.stdout.write(data));
  },
});
