// Upstream: kubectl/pkg/cmd/debug/debug.go.
import { ApiError } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import { isImageReference } from "../../generators/image-reference.ts";
import { metadataOf, resourcePath, stringIn } from "../../resources/resource-info.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { podMapping, specOf } from "../../workloads/pods.ts";
import { usualDetachKeys } from "../stream/attach.ts";
import { attachWhenRunning } from "../stream/attach-created.ts";
import { type DebugFlags, debugFlags } from "./flags.ts";
import { copied, customContainer, type DebugPod, type DebugRequest, onNode, withEphemeral } from "./pods.ts";
import { entriesOf, profileNamed } from "./profiles.ts";

export const debug = command({
  use: "debug (POD | TYPE[[.VERSION].GROUP]/NAME) [ -- COMMAND [args...] ]",
  long: "Look into a pod with a container for debugging beside its own or in a copy of the pod, or into a node with a pod that sees the node's files and processes.",
  examples: `# A container beside those of a running pod
kubectl debug web -it --image=busybox

# The same, with the processes of a container in sight
kubectl debug web -it --image=busybox --target=main

# A copy of the pod with a shell in place of what the container runs
kubectl debug web -it --copy-to=web-debug --container=main -- sh

# A copy with other images
kubectl debug web --copy-to=web-debug --set-image=main=main:debug

# A node; its files are under /host
kubectl debug node/worker-1 -it --image=busybox`,
  flags: debugFlags,
  async run(session, args, flags, { dash, changed }) {
    const hasProgram = dash >= 0 && args.length > dash;
    const names = hasProgram ? args.slice(0, dash) : args;
    const request: DebugRequest = {
      flags,
      program: hasProgram ? args.slice(dash) : [],
      env: pairs("env", flags.env).map(([name, value]) => ({ name, ...(value !== "" && { value }) })),
      images: new Map(pairs("set-image", flags["set-image"])),
      isSharingChanged: changed.has("share-processes"),
      custom: customContainer(flags.custom, session.io.cwd),
    };
    profileNamed(flags.profile);
    validate(session, request, names, changed.has("attach"));
    const query = await ResourceQuery.of(session, {
      ...(names.length > 0 && { args: names, defaultType: "pods" }),
      filenames: flags.filename,
      latest: true,
    });
    const isAttached = changed.has("attach") ? flags.attach : flags.stdin;
    for (const { object, mapping } of await query.infos()) {
      const made = await debugObject(session, request, object, mapping?.kind ?? "");
      if (isAttached && made.container !== "")
        await attachWhenRunning(session, made.pod, {
          container: made.container,
          stdin: flags.stdin,
          tty: flags.tty,
          quiet: flags.quiet,
          detachKeys: usualDetachKeys,
        });
    }
  },
});

/** `a=b` each. Throws KubectlError. */
function pairs(flag: string, texts: readonly string[]): readonly (readonly [string, string])[] {
  return texts.map((text) => {
    const at = text.indexOf("=");
    if (at < 0)
      throw new KubectlError(
        `invalid argument ${JSON.stringify(text)} for "--${flag}" flag: ${text} must be formatted as key=value`,
      );
    return [text.slice(0, at), text.slice(at + 1)];
  });
}

function validate(session: Session, request: DebugRequest, names: readonly string[], isAttachChanged: boolean): void {
  const { flags, images, program } = request;
  const refuse = (isWrong: boolean, why: string) => {
    if (isWrong) throw new KubectlError(why);
  };
  const isCopy = flags["copy-to"] !== "";
  refuse(
    flags.attach && isAttachChanged && flags.image === "" && flags.container === "",
    "you must specify --container or create a new container using --image in order to attach.",
  );
  if (isCopy) {
    const hasProgram = program.length > 0;
    refuse(
      flags.image === "" && images.size === 0 && !hasProgram,
      "you must specify --image, --set-image or command arguments.",
    );
    refuse(
      hasProgram && flags.container === "" && flags.image === "",
      "you must specify an existing container or a new image when specifying args.",
    );
  } else {
    refuse(flags.replace, "--replace may only be used with --copy-to.");
    refuse(flags["same-node"], "--same-node may only be used with --copy-to.");
    refuse(images.size > 0, "--set-image may only be used with --copy-to.");
    refuse(flags.image === "", "you must specify --image when not using --copy-to.");
  }
  validateNames(flags, images, names, refuse);
  refuse(flags.target !== "" && isCopy, "--target is incompatible with --copy-to. Use --share-processes instead.");
  if (flags.target !== "" && !flags.quiet)
    session.print(
      `Targeting container ${JSON.stringify(flags.target)}. If you don't see processes from this container it may be because the container runtime doesn't support this feature.`,
    );
  refuse(flags.tty && !flags.stdin, "-i/--stdin is required for containers with -t/--tty=true");
  if (flags.profile === "legacy")
    session.printError(
      '--profile=legacy is deprecated and planned to be removed in v1.39. It is recommended to specify other profile, for example "--profile=general".',
    );
}

function validateNames(
  flags: DebugFlags,
  images: ReadonlyMap<string, string>,
  names: readonly string[],
  refuse: (isWrong: boolean, why: string) => void,
): void {
  const format = "invalid reference format";
  refuse(
    flags.image !== "" && !isImageReference(flags.image),
    `invalid image name ${JSON.stringify(flags.image)}: ${format}`,
  );
  refuse(names.length === 0 && flags.filename.length === 0, "NAME or filename is required for debug");
  const policy = flags["image-pull-policy"];
  refuse(!["Always", "IfNotPresent", "Never", ""].includes(policy), `invalid image pull policy: ${policy}`);
  for (const [name, image] of images)
    refuse(
      !isImageReference(image),
      `invalid image name ${JSON.stringify(image)} for container ${JSON.stringify(name)}: ${format}`,
    );
}

async function debugObject(
  session: Session,
  request: DebugRequest,
  object: KubeObject | undefined,
  kind: string,
): Promise<DebugPod> {
  if (object?.kind === "Node") return debugNode(session, request, object);
  if (object?.kind !== "Pod")
    throw new KubectlError(`${JSON.stringify(`${object?.apiVersion}, Kind=${kind}`)} not supported by debug`);
  return request.flags["copy-to"] === "" ? debugInside(session, request, object) : debugCopy(session, request, object);
}

async function create(session: Session, namespace: string, pod: KubeObject): Promise<KubeObject> {
  return (await session.client()).json({
    method: "POST",
    path: resourcePath(podMapping, namespace),
    contentType: "application/json",
    body: JSON.stringify(pod),
  });
}

async function debugNode(session: Session, request: DebugRequest, node: KubeObject): Promise<DebugPod> {
  const { pod, container } = onNode(session, request, stringIn(metadataOf(node).name));
  return { pod: await create(session, await session.namespace(), pod), container };
}

async function debugCopy(session: Session, request: DebugRequest, original: KubeObject): Promise<DebugPod> {
  const { pod, container } = copied(session, request, original);
  warnOfUser(session, pod, container);
  const { namespace, name } = metadataOf(original);
  const created = await create(session, stringIn(namespace), pod);
  if (request.flags.replace)
    await (await session.client()).json({
      method: "DELETE",
      path: resourcePath(podMapping, stringIn(namespace), stringIn(name)),
      contentType: "application/json",
      body: JSON.stringify({ kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 0 }),
    });
  return { pod: created, container };
}

async function debugInside(session: Session, request: DebugRequest, original: KubeObject): Promise<DebugPod> {
  const { pod, container } = withEphemeral(session, request, original);
  warnOfUser(session, pod, container);
  const all = entriesOf(specOf(pod), "ephemeralContainers");
  const patch = {
    spec: {
      ...(all.length > 1 && { "$setElementOrder/ephemeralContainers": all.map(({ name }) => ({ name })) }),
      ephemeralContainers: all.filter(({ name }) => name === container),
    },
  };
  const { namespace, name } = metadataOf(original);
  try {
    const changed = await (await session.client()).json({
      method: "PATCH",
      path: resourcePath(podMapping, stringIn(namespace), stringIn(name), "ephemeralcontainers"),
      contentType: "application/strategic-merge-patch+json",
      body: JSON.stringify(patch),
    });
    return { pod: changed, container };
  } catch (error) {
    // A server that does not have the subresource names no pod.
    if (!(error instanceof ApiError) || error.reason !== "NotFound" || error.details?.name) throw error;
    throw new KubectlError(
      `ephemeral containers are disabled for this cluster (error from server: ${JSON.stringify(error.message)})`,
      { cause: error },
    );
  }
}

/** What a profile grants helps nobody who is not root. */
function warnOfUser(session: Session, pod: KubeObject, name: string): void {
  const isUser = (value: unknown) => typeof value === "number" && value !== 0;
  const { securityContext } = specOf(pod);
  if (!isObject(securityContext) || !isUser(securityContext.runAsUser)) return;
  const lists = ["containers", "ephemeralContainers"].flatMap((list) => entriesOf(specOf(pod), list));
  const own = lists.find((one) => one.name === name)?.securityContext;
  if (!isObject(own) || own.runAsUser === 0) return;
  const added = isObject(own.capabilities) && Array.isArray(own.capabilities.add) ? own.capabilities.add : [];
  if (own.privileged !== true && added.length === 0) return;
  session.printError(
    'Warning: Non-root user is configured for the entire target Pod, and some capabilities granted by debug profile may not work. Please consider using "--custom" with a custom profile that specifies "securityContext.runAsUser: 0".',
  );
}
