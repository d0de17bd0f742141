// Refuses containers that would run as root though runAsNonRoot is set, as upstream's verifyRunAsNonRoot does
// (pkg/kubelet/kuberuntime/security_context_others.go).
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Image } from "./runtime.ts";

const maxId = 2 ** 31 - 1;

/** Why it must not be started, in upstream's words; undefined if it may. */
export function rootProblem(
  pod: Pod,
  { name, securityContext: containerContext }: Container,
  user: Image["user"],
): string | undefined {
  const all = pod.spec.securityContext;
  if (!(containerContext?.runAsNonRoot ?? all?.runAsNonRoot)) return undefined;
  const { metadata } = pod;
  const subject = `(pod: "${metadata.name}_${metadata.namespace}(${metadata.uid})", container: ${name})`;
  const runAsUser = containerContext?.runAsUser ?? all?.runAsUser;
  if (runAsUser !== undefined)
    return runAsUser === 0 ? `container's runAsUser breaks non-root policy ${subject}` : undefined;
  if (user === undefined) return undefined;
  const said = "container has runAsNonRoot and image";
  if ("name" in user) return `${said} has non-numeric user (${user.name}), cannot verify user is non-root ${subject}`;
  if (user.id === 0) return `${said} will run as root ${subject}`;
  if (user.id < 0 || user.id > maxId)
    return `${said} has an invalid user id (${user.id}). (Must be 1-(${maxId})): must be between 0 and ${maxId}, inclusive ${subject}`;
  return undefined;
}
