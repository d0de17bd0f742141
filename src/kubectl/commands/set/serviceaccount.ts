// Upstream: kubectl/pkg/cmd/set/set_serviceaccount.go.
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import type { KubeObject } from "../../rest/client.ts";
import { recordFlag } from "../../write-options.ts";
import { changeAll, localServerRun, setFlags, setTargets } from "./change.ts";
import { withPodSpec } from "./pod-spec.ts";

export const setServiceAccount = command({
  use: "serviceaccount (-f FILENAME | TYPE NAME) SERVICE_ACCOUNT",
  long: "Change the service account that the pods of an object run as.",
  examples: `  # The pods of a deployment run as robot
  kubectl set serviceaccount deployment web robot

  # Print what a file would become, without asking a server
  kubectl set sa -f web.yaml robot --local -o yaml`,
  flags: { ...setFlags, ...recordFlag },
  run: async (session, args, flags, invocation) => {
    if (flags.local && flags["dry-run"] === "server") throw new KubectlError(localServerRun);
    const serviceAccountName = args.at(-1);
    if (serviceAccountName === undefined) throw new KubectlError("serviceaccount is required");
    const infos = await setTargets(session, args.slice(0, -1), flags);
    const change = {
      done: "serviceaccount updated",
      failure: "failed to patch ServiceAccountName ",
      isUnconditional: true,
      change: (object: KubeObject) => withPodSpec(object, (spec) => ({ ...spec, serviceAccountName })),
    };
    await changeAll(session, infos, flags, change, invocation);
  },
});
