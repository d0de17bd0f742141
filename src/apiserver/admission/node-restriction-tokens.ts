// Tokens that a node asks for must be for pods it runs, and for audiences that those pods name.
// Upstream: plugin/pkg/admission/noderestriction/admission.go.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { Volume } from "#api/core/v1/volume.ts";
import { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import type { ApiObject } from "#schema/object.ts";
import { notFound } from "#wire/status.ts";
import type { AdmissionRefusal, AdmissionRequest } from "./plugin.ts";
import type { AdmissionServer } from "./server.ts";

type TokenAsked = AdmissionRequest<ApiObject | undefined, ApiObject | undefined>;

export async function tokenRefusal(node: string, asked: TokenAsked): Promise<AdmissionRefusal> {
  const { operation, subresource, object, namespace, server } = asked;
  if (operation !== "create" || subresource !== "token") return undefined;
  const bound = object?.spec?.boundObjectRef;
  if (bound?.apiVersion !== "v1" || bound.kind !== "Pod" || !bound.name)
    return "node requested token not bound to a pod";
  if (!bound.uid) return "node requested token with a pod binding without a uid";
  const pod = server.get(Pod, bound.name, namespace);
  if (!pod) throw notFound({ group: "", resource: "pods" }, bound.name);
  if (bound.uid !== pod.metadata.uid)
    return `the UID in the bound object reference (${bound.uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  if (pod.spec.nodeName !== node) return "node requested token bound to a pod scheduled on a different node";
  return audienceRefusal(asked, pod, object?.spec?.audiences ?? []);
}

async function audienceRefusal(asked: TokenAsked, pod: Pod, audiences: readonly string[]): Promise<AdmissionRefusal> {
  const { user, namespace, name, server } = asked;
  const [audience = "", ...others] = audiences;
  if (others.length > 0) return "node may only request 0 or 1 audiences";
  if ((pod.spec.volumes ?? []).some((volume) => names(volume, audience, pod, server))) return undefined;
  const { decision } = await server.authorize({
    type: "resource",
    user,
    verb: "request-serviceaccounts-token-audience",
    group: "",
    version: "v1",
    resource: audience,
    namespace,
    ...(name && { name }),
  });
  return decision === "allow"
    ? undefined
    : `audience ${JSON.stringify(audience)} not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`;
}

/** Whether a volume of the pod needs a token for an audience: by itself, or through the driver that provides it. */
function names(volume: Volume, audience: string, pod: Pod, server: AdmissionServer): boolean {
  const { projected, csi, ephemeral, persistentVolumeClaim } = volume;
  const isProjected = projected?.sources?.some(
    ({ serviceAccountToken }) => serviceAccountToken && (serviceAccountToken.audience ?? "") === audience,
  );
  if (isProjected) return true;
  const claim = ephemeral ? `${pod.metadata.name}-${volume.name}` : persistentVolumeClaim?.claimName;
  const driver = claim === undefined ? csi?.driver : driverOf(claim, pod.metadata.namespace ?? "", server);
  const requests = driver === undefined ? undefined : server.get(CSIDriver, driver)?.spec.tokenRequests;
  return requests?.some((request) => (request.audience ?? "") === audience) ?? false;
}

function driverOf(claim: string, namespace: string, server: AdmissionServer): string | undefined {
  const volumeName = server.get(PersistentVolumeClaim, claim, namespace)?.spec.volumeName;
  return volumeName === undefined ? undefined : server.get(PersistentVolume, volumeName)?.spec.csi?.driver;
}
