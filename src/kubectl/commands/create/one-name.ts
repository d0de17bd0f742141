import type { Invocation } from "../../command.ts";
import { usageError } from "../../errors.ts";
import type { FlagDeclarations } from "../../flags.ts";

/** The one argument that names what is created. Throws KubectlError. */
export function oneName<F extends FlagDeclarations>({ args, dash, commandPath }: Invocation<F>): string {
  const count = dash < 0 ? args.length : dash;
  if (count !== 1) throw usageError(`exactly one NAME is required, got ${count}`, commandPath);
  return args[0] as string;
}
