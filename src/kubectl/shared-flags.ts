// Flags that many commands have in common.
import type { FlagDeclarations } from "./flags.ts";

/** `-f`, `-k` and `-R`. */
export const manifestFlags = (what: string) =>
  ({
    filename: {
      type: "stringSlice",
      short: "f",
      help: `${what} Files, folders, addresses, or - for the standard input.`,
    },
    kustomize: { type: "string", short: "k", help: "A folder with a kustomization; cannot be used together with -f." },
    recursive: { type: "bool", short: "R", help: "Folders of -f are read with all that is below them." },
  }) as const satisfies FlagDeclarations;
