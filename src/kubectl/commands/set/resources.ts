// Upstream: kubectl/pkg/cmd/set/set_resources.go.
import { canonicalQuantity, QuantityError } from "#schema/quantity.ts";
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import type { KubeObject } from "../../rest/client.ts";
import { recordFlag } from "../../write-options.ts";
import { allAndSelector, changeAll, localServerRun, setFlags, setSelectorFlag, setTargets } from "./change.ts";
import { changedContainers, fitsPattern, withPodSpec } from "./pod-spec.ts";

export const setResources = command({
  use: "resources (-f FILENAME | TYPE NAME)  ([--limits=LIMITS & --requests=REQUESTS]",
  long: "Change how much CPU, memory and other resources containers ask for, and how much they may take.",
  examples: `  # What the container main of a deployment may take
  kubectl set resources deployment web -c=main --limits=cpu=200m,memory=512Mi

  # What all its containers ask for
  kubectl set resources deployment web --requests=cpu=100m,memory=256Mi`,
  flags: {
    ...setFlags,
    ...setSelectorFlag,
    ...recordFlag,
    containers: { type: "string", short: "c", default: "*", help: "Names of containers; * stands for any text." },
    limits: { type: "string", help: "What containers may take: cpu=100m,memory=256Mi." },
    requests: { type: "string", help: "What containers ask for: cpu=100m,memory=256Mi." },
  },
  run: async (session, args, flags, invocation) => {
    const infos = await setTargets(session, args, flags);
    if (flags.local && flags["dry-run"] === "server") throw new KubectlError(localServerRun);
    if (flags.all && flags.selector !== "") throw new KubectlError(allAndSelector);
    if (flags.limits === "" && flags.requests === "")
      throw new KubectlError("you must specify an update to requests or limits (in the form of --requests/--limits)");
    const limits = quantitiesIn(flags.limits);
    const requests = quantitiesIn(flags.requests);
    const isMeant = (name: string) => fitsPattern(name, flags.containers);
    const change = {
      done: "resource requirements updated",
      failure: "failed to patch resources update to pod template ",
      change: (object: KubeObject, problems: Error[]) =>
        withPodSpec(object, (spec) => {
          const { spec: changed, count } = changedContainers(spec, isMeant, (one) =>
            withResources(one, limits, requests),
          );
          if (count === 0) problems.push(new KubectlError(`error: unable to find container named ${flags.containers}`));
          return changed;
        }),
    };
    await changeAll(session, infos, flags, change, invocation);
  },
});

type Quantities = Readonly<Record<string, string>>;

function quantitiesIn(text: string): Quantities | undefined {
  if (text === "") return undefined;
  const entries = text.split(",").map((statement) => {
    const [name = "", value = "", ...more] = statement.split("=");
    if (!statement.includes("=") || more.length > 0)
      throw new KubectlError(`Invalid argument syntax ${statement}, expected <resource>=<value>`);
    try {
      return [name, canonicalQuantity(value)] as const;
    } catch (error) {
      if (!(error instanceof QuantityError)) throw error;
      throw new KubectlError(error.message, { cause: error });
    }
  });
  return Object.fromEntries(entries);
}

function withResources(container: KubeObject, limits?: Quantities, requests?: Quantities): KubeObject {
  const now = (container.resources ?? {}) as { limits?: Quantities; requests?: Quantities };
  return {
    ...container,
    resources: {
      ...now,
      ...(limits && { limits: { ...now.limits, ...limits } }),
      ...(requests && { requests: { ...now.requests, ...requests } }),
    },
  };
}
