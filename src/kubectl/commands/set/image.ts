// Upstream: kubectl/pkg/cmd/set/set_image.go.
import { command } from "../../command.ts";
import { KubectlError, throwAll } from "../../errors.ts";
import { recordFlag } from "../../write-options.ts";
import { allAndSelector, changeAll, localServerRun, setFlags, setSelectorFlag, setTargets } from "./change.ts";
import { changedContainers, withPodSpec } from "./pod-spec.ts";

export const setImage = command({
  use: "image (-f FILENAME | TYPE NAME) CONTAINER_NAME_1=CONTAINER_IMAGE_1 ... CONTAINER_NAME_N=CONTAINER_IMAGE_N",
  long: "Change the images of containers, in pods and in whatever makes pods. The name * means every container.",
  examples: `  # Another image for the container main of a deployment
  kubectl set image deployment/web main=nginx:1.27

  # The same image for all containers of a daemon set
  kubectl set image daemonset agent *=agent:2

  # Print what a file would become, without asking a server
  kubectl set image -f web.yaml main=nginx:1.27 --local -o yaml`,
  flags: { ...setFlags, ...setSelectorFlag, ...recordFlag },
  run: async (session, args, flags, invocation) => {
    const { resources, images } = splitImages(args);
    const infos = await setTargets(session, resources, flags);
    const problems = [
      ...(flags.all && flags.selector !== "" ? [allAndSelector] : []),
      ...(resources.length === 0 && flags.filename.length === 0 && flags.kustomize === ""
        ? ["one or more resources must be specified as <resource> <name> or <resource>/<name>"]
        : []),
      ...(images.size === 0 ? ["at least one image update is required"] : []),
      ...(images.size > 1 && images.has("*")
        ? ["all containers are already specified by *, but saw more than one container_name=container_image pairs"]
        : []),
      ...(flags.local && flags["dry-run"] === "server" ? [localServerRun] : []),
    ];
    throwAll(problems.map((problem) => new KubectlError(problem)));
    const change = {
      done: "image updated",
      failure: "failed to patch image update to pod template: ",
      change: (object: Record<string, unknown>, missing: Error[]) =>
        withPodSpec(object, (spec) => {
          let changed = spec;
          for (const [name, image] of images) {
            const isMeant = (container: string) => name === "*" || container === name;
            const { spec: next, count } = changedContainers(changed, isMeant, (one) => ({ ...one, image }));
            if (count === 0)
              missing.push(new KubectlError(`error: unable to find container named ${JSON.stringify(name)}`));
            changed = next;
          }
          return changed;
        }),
    };
    await changeAll(session, infos, flags, change, invocation);
  },
});

function splitImages(args: readonly string[]): { resources: readonly string[]; images: ReadonlyMap<string, string> } {
  const isPair = (arg: string) => (arg.includes("=") && !arg.startsWith("=")) || /.-$/.test(arg);
  const first = args.findIndex(isPair);
  const pairs = first < 0 ? [] : args.slice(first);
  const odd = pairs.find((arg) => !isPair(arg));
  if (odd !== undefined) throw new KubectlError(`all resources must be specified before image changes: ${odd}`);
  const invalid = pairs.filter((arg) => !arg.includes("="));
  if (invalid.length > 0) throw new KubectlError(`invalid image format: ${invalid.join(", ")}`);
  const images = pairs.map((arg) => [arg.slice(0, arg.indexOf("=")), arg.slice(arg.indexOf("=") + 1)] as const);
  return { resources: first < 0 ? args : args.slice(0, first), images: new Map(images) };
}
