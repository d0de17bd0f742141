// The flags of apply, and which of them contradict each other.
import type { ApplySet } from "../../apply/apply-set.ts";
import { KubectlError } from "../../errors.ts";
import type { FlagDeclarations, ParsedFlags } from "../../flags.ts";
import { type DryRun, filenameFlags, recordFlag, validateFlag, writtenFlags } from "../../write-options.ts";
import { cascadeFlags } from "../delete-flags.ts";

export const serverSideFlags = {
  "field-manager": {
    type: "string",
    default: "kubectl-client-side-apply",
    help: "Name of the manager that fields are noted for; kubectl with --server-side, unless given.",
  },
  "force-conflicts": { type: "bool", help: "With --server-side, take over fields that others manage." },
  "server-side": { type: "bool", help: "Let the server apply." },
} as const satisfies FlagDeclarations;

export const applyFlags = {
  ...writtenFlags,
  ...filenameFlags,
  ...validateFlag,
  ...recordFlag,
  ...serverSideFlags,
  ...cascadeFlags,
  all: { type: "bool", help: "With --prune, look at all objects of the kinds." },
  applyset: { type: "string", help: "With --prune, the parent of the set the objects belong to: [TYPE/]NAME." },
  "openapi-patch": { type: "bool", default: true, help: "Merge as the server's schema says." },
  overwrite: { type: "bool", default: true, help: "Overwrite what others have changed since the last apply." },
  prune: { type: "bool", help: "Delete what was applied before and is not among the objects." },
  "prune-allowlist": { type: "stringArray", help: "Kind to prune, as group/version/kind; can be repeated." },
  selector: { type: "string", short: "l", help: "Only objects with these labels." },
  subresource: { type: "string", help: "With --server-side, the part of the objects to apply." },
  wait: { type: "bool", help: "Wait until what is deleted is gone." },
} as const satisfies FlagDeclarations;
export type ApplyFlags = ParsedFlags<typeof applyFlags>;

/** Throws KubectlError. */
export async function checkApplyFlags(
  flags: ApplyFlags,
  dryRun: DryRun,
  applySet: ApplySet | undefined,
  allowedKinds: number,
): Promise<void> {
  const { force, prune, all, selector, "server-side": isServerSide } = flags;
  const refuse = (isWrong: boolean, why: string) => {
    if (isWrong) throw new KubectlError(why);
  };
  refuse(flags["force-conflicts"] && !isServerSide, "--force-conflicts only works with --server-side");
  refuse(
    dryRun === "client" && isServerSide,
    "--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)",
  );
  refuse(isServerSide && force, "--force cannot be used with --server-side");
  refuse(dryRun === "server" && force, "--dry-run=server cannot be used with --force");
  refuse(all && selector !== "", "cannot set --all and --selector at the same time");
  if (applySet) {
    refuse(!prune, "--applyset requires --prune");
    await applySet.validate();
  }
  if (prune) {
    refuse(force, "--force cannot be used with --prune");
    if (applySet) {
      refuse(all, "--all is incompatible with --applyset");
      refuse(selector !== "", "--selector is incompatible with --applyset");
      refuse(allowedKinds > 0, "--prune-allowlist is incompatible with --applyset");
    } else {
      refuse(
        !all && selector === "",
        "all resources selected for prune without explicitly passing --all. To prune all resources, pass the --all flag. If you did not mean to prune all resources, specify a label selector",
      );
      refuse(isServerSide, "--prune is in alpha and doesn't currently work on objects created by server-side apply");
    }
  }
  refuse(flags.subresource !== "" && !isServerSide, "--subresource can only be specified for --server-side");
}
