// Upstream: kubectl/pkg/cmd/kuberc/set.go.
import { isObject } from "#base/is-object.ts";
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import type { FlagDeclarations, ParsedFlags } from "../../flags.ts";
import type { KubeObject } from "../../rest/client.ts";
import { newPreference, placeFor, readPreferenceFile, savePreferenceFile } from "./preference-file.ts";

const setFlags = {
  "allowlist-entry": {
    type: "stringArray",
    help: "A credential plugin that may run, as command=NAME; can be repeated.",
  },
  appendarg: { type: "stringArray", help: "Argument after those that are typed; for aliases, can be repeated." },
  command: { type: "string", help: "The command, such as get or 'set env'." },
  name: { type: "string", help: "Name of the alias." },
  option: { type: "stringArray", help: "Default of a flag, as flag=value; can be repeated." },
  overwrite: { type: "bool", help: "Replace what is there." },
  policy: { type: "string", help: "Which credential plugins may run: AllowAll, DenyAll or Allowlist." },
  prependarg: { type: "stringArray", help: "Argument before those that are typed; for aliases, can be repeated." },
  section: { type: "string", help: "What to set: defaults, aliases or credentialplugin." },
} as const satisfies FlagDeclarations;
type SetFlags = ParsedFlags<typeof setFlags>;

export const set = command({
  use: "set --section (defaults|aliases) --command COMMAND",
  long: "Set a default of a flag, an alias, or which credential plugins may run.",
  examples: `# get shows more columns
kubectl kuberc set --section defaults --command get --option output=wide

# getn is get nodes
kubectl kuberc set --section aliases --name getn --command get --prependarg nodes --option output=wide

# Only one credential plugin may run
kubectl kuberc set --section credentialplugin --policy Allowlist --allowlist-entry command=cloud-helper`,
  flags: setFlags,
  async run(session, _args, flags, { changed }) {
    if (!changed.has("section")) throw new KubectlError('required flag(s) "section" not set');
    const { path } = placeFor(session);
    validate(flags);
    const before = readPreferenceFile(path) ?? newPreference();
    savePreferenceFile(session, path, { ...before, ...changesFor(flags, before) });
  },
});

function validate(flags: SetFlags): void {
  const { section, name, policy } = flags;
  const refuse = (isWrong: boolean, why: string) => {
    if (isWrong) throw new KubectlError(why);
  };
  const hasArgs = flags.prependarg.length > 0 || flags.appendarg.length > 0;
  const isPlugin = section === "credentialplugin";
  refuse(
    !["defaults", "aliases", "credentialplugin"].includes(section),
    `--section must be "defaults", "aliases", or "credentialplugin", got: ${section}`,
  );
  refuse(section === "aliases" && name === "", "--name is required when --section=aliases");
  refuse(section === "defaults" && name !== "", "--name should not be specified when --section=defaults");
  refuse(section === "defaults" && hasArgs, "--prependarg and --appendarg are only valid for --section=aliases");
  refuse(!isPlugin && flags.command === "", "--command is required when --section=aliases or --section=defaults");
  if (!isPlugin) return;
  const hasEntries = flags["allowlist-entry"].length > 0;
  refuse(policy === "", "--policy is required when --section=credentialplugin");
  refuse(
    !["AllowAll", "DenyAll", "Allowlist"].includes(policy),
    ` --policy must be  "AllowAll", "DenyAll", or "Allowlist", got: ${policy}`,
  );
  refuse(
    policy !== "Allowlist" && hasEntries,
    "--allowlist-entry may only be used when --section=credentialplugin and --policy=Allowlist",
  );
  refuse(
    policy === "Allowlist" && !hasEntries,
    "--allowlist-entry is required when --section=credentialplugin and --policy=Allowlist",
  );
}

const entriesIn = (value: unknown): readonly KubeObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
/** What was given, else what was there. */
const given = <T>(values: readonly T[], before: unknown): unknown => (values.length > 0 ? values : before);

function changesFor(flags: SetFlags, before: KubeObject): KubeObject {
  const options = flags.option.map(optionIn);
  if (flags.section === "credentialplugin")
    return {
      credentialPluginPolicy: flags.policy,
      ...(flags.policy === "Allowlist" && { credentialPluginAllowlist: flags["allowlist-entry"].flatMap(allowed) }),
    };
  if (flags.section === "defaults") {
    const all = entriesIn(before.defaults);
    const known = all.find((one) => one.command === flags.command);
    if (known && !flags.overwrite)
      throw new KubectlError(
        `defaults for command ${JSON.stringify(flags.command)} already exist, use --overwrite to replace`,
      );
    const entry = { command: flags.command, options: given(options, known?.options) ?? null };
    return { defaults: known ? all.map((one) => (one === known ? entry : one)) : [...all, entry] };
  }
  const all = entriesIn(before.aliases);
  const known = all.find((one) => one.name === flags.name);
  if (known && !flags.overwrite)
    throw new KubectlError(`alias ${JSON.stringify(flags.name)} already exists, use --overwrite to replace`);
  const entry = Object.fromEntries(
    Object.entries({
      name: flags.name,
      command: flags.command,
      prependArgs: given(flags.prependarg, known?.prependArgs),
      appendArgs: given(flags.appendarg, known?.appendArgs),
      options: given(options, known?.options),
    }).filter(([, value]) => value !== undefined),
  );
  return { aliases: known ? all.map((one) => (one === known ? entry : one)) : [...all, entry] };
}

function optionIn(text: string): KubeObject {
  const at = text.indexOf("=");
  if (at < 0) throw new KubectlError(`invalid option format ${JSON.stringify(text)}, expected flag=value`);
  return { name: text.slice(0, at).replace(/^-+/, ""), default: text.slice(at + 1) };
}

function allowed(text: string): readonly KubeObject[] {
  return text.split(",").map((pair) => {
    const at = pair.indexOf("=");
    if (at < 0) throw new KubectlError(`improperly formatted allowlist entry: ${JSON.stringify(pair)}`);
    const [field, value] = [pair.slice(0, at), pair.slice(at + 1)];
    if (field === "name") throw new KubectlError('allowlist entry field "name" is deprecated, use "command" instead');
    if (field !== "command") throw new KubectlError(`unrecognized allowlist entry field: ${JSON.stringify(field)}`);
    if (value.trim() === "")
      throw new KubectlError(`empty value in allowlist entry for field ${JSON.stringify(field)}`);
    return { command: value };
  });
}
