// The pods and containers that debug makes (upstream: kubectl/pkg/cmd/debug/debug.go).
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isObject } from "#base/is-object.ts";
import { patchedObject } from "../../apply/patch-object.ts";
import { KubectlError } from "../../errors.ts";
import { filled } from "../../generators/generated.ts";
import { manifestDocuments } from "../../resources/manifest-files.ts";
import { metadataOf, stringIn } from "../../resources/resource-info.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { containersOf, specOf } from "../../workloads/pods.ts";
import type { DebugFlags } from "./flags.ts";
import { entriesOf, profileNamed, withContainer } from "./profiles.ts";

/** What is wanted, from flags and arguments. */
export interface DebugRequest {
  readonly flags: DebugFlags;
  readonly program: readonly string[];
  readonly env: readonly KubeObject[];
  readonly images: ReadonlyMap<string, string>;
  readonly isSharingChanged: boolean;
  readonly custom: KubeObject | undefined;
}

export interface DebugPod {
  readonly pod: KubeObject;
  /** The container to attach to; empty if there is no new one. */
  readonly container: string;
}

function newContainer({ flags, program, env }: DebugRequest, name: string): KubeObject {
  return {
    name,
    image: flags.image,
    ...filled(flags["arguments-only"] ? "args" : "command", program),
    ...filled("env", env),
    resources: {},
    ...filled("imagePullPolicy", flags["image-pull-policy"]),
    terminationMessagePolicy: "File",
    ...(flags.stdin && { stdin: true }),
    ...(flags.tty && { tty: true }),
  };
}

/** The pod with a new ephemeral container. */
export function withEphemeral(session: Session, request: DebugRequest, pod: KubeObject): DebugPod {
  const { flags } = request;
  const name = containerName(session, request, pod);
  const container = { ...newContainer(request, name), ...filled("targetContainerName", flags.target) };
  const spec = specOf(pod);
  const added: KubeObject = {
    ...pod,
    spec: { ...spec, ephemeralContainers: [...entriesOf(spec, "ephemeralContainers"), container] },
  };
  const profiled = profileNamed(flags.profile)(added, name, "ephemeral", flags);
  return { pod: customized(profiled, name, request.custom), container: name };
}

/** A pod on a node, with the node's files and namespaces where the profile says so. */
export function onNode(session: Session, request: DebugRequest, node: string): DebugPod {
  const { flags } = request;
  const container = flags.container || "debugger";
  const name = `node-debugger-${node}-${suffix(session)}`;
  if (!flags.quiet) session.print(`Creating debugging pod ${name} with container ${container} on node ${node}.`);
  const pod: KubeObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { "app.kubernetes.io/managed-by": "kubectl-debug" } },
    spec: {
      containers: [newContainer(request, container)],
      nodeName: node,
      restartPolicy: "Never",
      tolerations: [{ operator: "Exists" }],
    },
    status: {},
  };
  const profiled = profileNamed(flags.profile)(pod, container, "node", flags);
  return { pod: customized(profiled, container, request.custom), container };
}

/** A copy under another name, with another container or other images. */
export function copied(session: Session, request: DebugRequest, pod: KubeObject): DebugPod {
  const { flags, images } = request;
  const { namespace, labels, annotations } = metadataOf(pod);
  const { ephemeralContainers: _, nodeName, ...spec } = specOf(pod);
  const copy: KubeObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: flags["copy-to"],
      namespace,
      ...(isObject(labels) && { labels }),
      ...(isObject(annotations) && { annotations }),
    },
    spec: {
      ...spec,
      ...(request.isSharingChanged && { shareProcessNamespace: flags["share-processes"] }),
      ...(flags["same-node"] && nodeName !== undefined && { nodeName }),
      containers: entriesOf(spec, "containers").map((one) => {
        const image = images.get(stringIn(one.name)) ?? images.get("*");
        return image === undefined ? one : { ...one, image };
      }),
    },
    status: {},
  };
  const isKnown = containersOf(copy).some(({ name }) => name === flags.container);
  if (!isKnown && flags.image === "") {
    // Only images were to be changed.
    if (images.size > 0) return { pod: copy, container: "" };
    throw new KubectlError("you must specify image when creating new container");
  }
  const name = isKnown ? flags.container : containerName(session, request, copy);
  const withNew = isKnown ? copy : withAnother(copy, { name, resources: {}, terminationMessagePolicy: "File" });
  const changed = withContainer(withNew, name, (container) => changedContainer(container, request));
  const profiled = profileNamed(flags.profile)(changed, name, "copy", flags);
  return { pod: customized(profiled, name, request.custom), container: name };
}

const withAnother = (pod: KubeObject, container: KubeObject): KubeObject => ({
  ...pod,
  spec: { ...specOf(pod), containers: [...entriesOf(specOf(pod), "containers"), container] },
});

function changedContainer(container: KubeObject, { flags, program, env }: DebugRequest): KubeObject {
  const { stdin: _, tty: __, command, args, ...rest } = container;
  const words =
    program.length === 0
      ? { ...(command !== undefined && { command }), ...(args !== undefined && { args }) }
      : flags["arguments-only"]
        ? { ...(command !== undefined && { command }), args: program }
        : { command: program };
  return {
    ...rest,
    ...words,
    ...filled("env", env),
    ...filled("image", flags.image),
    ...filled("imagePullPolicy", flags["image-pull-policy"]),
    ...(flags.stdin && { stdin: true }),
    ...(flags.tty && { tty: true }),
  };
}

function containerName(session: Session, { flags }: DebugRequest, pod: KubeObject): string {
  if (flags.container !== "") return flags.container;
  const known = new Set(containersOf(pod).map(({ name }) => name));
  let name = "";
  while (name === "" || known.has(name)) name = `debugger-${suffix(session)}`;
  if (!flags.quiet) session.print(`Defaulting debug container name to ${name}.`);
  return name;
}

/** Letters and digits that make no words. */
const suffix = ({ io: { random } }: Session): string => {
  const letters = "bcdfghjklmnpqrstvwxz2456789";
  return Array.from({ length: 5 }, () => letters[random.below(letters.length)]).join("");
};

/** What a file says of the container is put over it. */
function customized(pod: KubeObject, name: string, custom: KubeObject | undefined): KubeObject {
  if (!custom) return pod;
  const list = entriesOf(specOf(pod), "ephemeralContainers").some((one) => one.name === name)
    ? "ephemeralContainers"
    : "containers";
  return patchedObject(
    { ...pod, apiVersion: "v1", kind: "Pod" },
    { spec: { [list]: [{ ...custom, name }] } },
    "strategic",
  );
}

/** The container in a file of `--custom`. Throws KubectlError. */
export function customContainer(path: string, cwd: string): KubeObject | undefined {
  if (path === "") return undefined;
  let text: string;
  try {
    text = readFileSync(resolve(cwd, path), "utf8");
  } catch (cause) {
    throw new KubectlError(
      `must pass a container spec json file for custom profile: open ${path}: no such file or directory`,
      { cause },
    );
  }
  const [container] = manifestDocuments(text, path);
  if (!isObject(container)) throw new KubectlError(`${path} does not contain a valid container spec`);
  if (["name", "command", "image", "lifecycle", "volumeDevices"].some((field) => container[field] !== undefined))
    throw new KubectlError("name, command, image, lifecycle and volume devices are not modifiable via custom profile");
  return container;
}
