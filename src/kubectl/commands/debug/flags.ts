import type { FlagDeclarations, ParsedFlags } from "../../flags.ts";

const onlyForCopies = "Only with --copy-to.";

export const debugFlags = {
  "arguments-only": {
    type: "bool",
    help: "What stands after -- are arguments of the image's command, not the command.",
  },
  attach: { type: "bool", help: "Attach to the container when it runs; as usual with -i." },
  container: { type: "string", short: "c", help: "Name of the container for debugging." },
  "copy-to": { type: "string", help: "Make a copy of the pod with this name." },
  custom: { type: "string", help: "File with a part of a container, which is put over what the profile says." },
  env: { type: "stringSlice", help: "Environment variables of the container, as NAME=value." },
  filename: { type: "stringSlice", short: "f", help: "The file of the object to debug." },
  image: { type: "string", help: "Image of the container for debugging." },
  "image-pull-policy": { type: "string", help: "When to pull the image; the server decides if left empty." },
  "keep-annotations": { type: "bool", help: `Keep annotations. ${onlyForCopies}` },
  "keep-init-containers": { type: "bool", default: true, help: `Run the init containers again. ${onlyForCopies}` },
  "keep-labels": { type: "bool", help: `Keep labels. ${onlyForCopies}` },
  "keep-liveness": { type: "bool", help: `Keep liveness probes. ${onlyForCopies}` },
  "keep-readiness": { type: "bool", help: `Keep readiness probes. ${onlyForCopies}` },
  "keep-startup": { type: "bool", help: `Keep startup probes. ${onlyForCopies}` },
  profile: {
    type: "string",
    default: "general",
    help: "What the container may do: general, baseline, restricted, netadmin or sysadmin.",
  },
  quiet: { type: "bool", short: "q", help: "Say nothing that is not asked for." },
  replace: { type: "bool", help: `Delete the original. ${onlyForCopies}` },
  "same-node": { type: "bool", help: `Run on the node of the original. ${onlyForCopies}` },
  "set-image": { type: "stringSlice", help: `Other images of containers, as name=image. ${onlyForCopies}` },
  "share-processes": { type: "bool", default: true, help: `Containers see each other's processes. ${onlyForCopies}` },
  stdin: { type: "bool", short: "i", help: "Keep the standard input of the container open." },
  target: { type: "string", help: "See the processes of this container; for ephemeral containers." },
  tty: { type: "bool", short: "t", help: "Give the container a terminal." },
} as const satisfies FlagDeclarations;

export type DebugFlags = ParsedFlags<typeof debugFlags>;
