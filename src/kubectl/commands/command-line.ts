// The command as `--record` notes it (upstream: cli-runtime/pkg/genericclioptions/record_flags.go).
import type { Invocation } from "../command.ts";
import type { FlagDeclarations } from "../flags.ts";

/** All arguments, then all flags that were given, as `--name=value`. Credentials are not noted. */
export function commandLine<F extends FlagDeclarations>({ commandPath, args, changed, flags }: Invocation<F>): string {
  const values = flags as Readonly<Record<string, unknown>>;
  const given = [...changed].flatMap((name) => {
    const value = values[name];
    if (["token", "password"].includes(name)) return [`--${name}=CLASSIFIED`];
    return Array.isArray(value) ? value.map((one) => `--${name}=${one}`) : [`--${name}=${value}`];
  });
  return [commandPath, ...args, ...given].join(" ");
}
