// As upstream had it until v1.30, for clusters that cannot use Pod Security: who a pod runs as is nobody's choice.
import { Pod } from "#api/core/v1/pod.ts";
import { admissionPlugin } from "./plugin.ts";
import { containersOf } from "./pod-containers.ts";

export const securityContextDeny = admissionPlugin({
  name: "SecurityContextDeny",
  on: { kind: Pod, verbs: ["create", "update"], through: ["", "ephemeralcontainers"] },
  validate({ object: { spec } }) {
    const { securityContext: ofPod = {} } = spec;
    if (ofPod.supplementalGroups !== undefined) return forbiddenField("pod.Spec.SecurityContext.SupplementalGroups");
    if (ofPod.seLinuxOptions !== undefined) return forbiddenField("pod.Spec.SecurityContext.SELinuxOptions");
    if (ofPod.runAsUser !== undefined) return forbiddenField("pod.Spec.SecurityContext.RunAsUser");
    if (ofPod.fsGroup !== undefined) return forbiddenField("pod.Spec.SecurityContext.FSGroup");
    for (const {
      container: { securityContext = {} },
    } of containersOf(spec)) {
      if (securityContext.seLinuxOptions !== undefined) return forbiddenField("SecurityContext.SELinuxOptions");
      if (securityContext.runAsUser !== undefined) return forbiddenField("SecurityContext.RunAsUser");
    }
    return undefined;
  },
});

const forbiddenField = (field: string): string => `${field} is forbidden`;
