// Groups of Kubernetes itself take an annotation that says where their API was approved. Follows
// apiextensions-apiserver/pkg/apihelpers/helpers.go.
export const approvalAnnotation = "api-approved.kubernetes.io";

const see = "see https://github.com/kubernetes/enhancements/pull/1111";

export interface Approval {
  readonly state: "missing" | "bypassed" | "approved" | "invalid";
  readonly message: string;
}

type Annotations = Readonly<Record<string, string>> | undefined;

/** Undefined for groups that need none. */
export function approvalOf(group: string, annotations: Annotations): Approval | undefined {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(group)) return undefined;
  const text = annotations?.[approvalAnnotation] ?? "";
  const needed = `protected groups must have approval annotation "${approvalAnnotation}"`;
  if (text === "") return { state: "missing", message: `${needed}, ${see}` };
  if (text.startsWith("unapproved")) return { state: "bypassed", message: `not approved: ${JSON.stringify(text)}` };
  if (/^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[^/?#]+/.test(text)) return { state: "approved", message: `approved in ${text}` };
  return { state: "invalid", message: `${needed} with either a URL or a reason starting with "unapproved", ${see}` };
}
