// Every pod has a service account, which must exist; unless someone objects, its token is mounted into the containers.
// Upstream: plugin/pkg/admission/serviceaccount/admission.go.
import { Pod } from "#api/core/v1/pod.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import type { Volume } from "#api/core/v1/volume.ts";
import { deepFreeze } from "#base/collections.ts";
import { type Soon, soon } from "#base/soon.ts";
import { secretNames } from "#rules/pod-secrets.ts";
import type { Draft, Mutable } from "#schema/infer.ts";
import { generatedName } from "../registry/prepare.ts";
import { type AdmissionRefusal, type AdmissionRequest, admissionPlugin, pluginOf } from "./plugin.ts";
import { unreferencedSecret } from "./service-account-secrets.ts";

const defaultName = "default";
const mirrorAnnotation = "kubernetes.io/config.mirror";
const enforceAnnotation = "kubernetes.io/enforce-mountable-secrets";
const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
const volumePrefix = "kube-api-access-";
/** Old clients that never read their token again live on it for a year; a lifetime just above an hour marks such tokens. */
const tokenSeconds = 3607;
const defaultMode = 0o644;

const created = admissionPlugin({
  name: "ServiceAccount",
  on: { kind: Pod, verbs: ["create"] },
  mutate(asked) {
    const { object: pod, server } = asked;
    if (isMirror(pod)) return mirrorRefusal(pod);
    const name = pod.spec.serviceAccountName || defaultName;
    pod.spec.serviceAccountName = name;
    pod.spec.serviceAccount = name;
    return soon(accountOf(asked, name), (account) => {
      if (!account) return missing(asked, name);
      if (pod.spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true)
        mountToken(pod, () => generatedName(volumePrefix, server.random));
      if ((pod.spec.imagePullSecrets ?? []).length === 0 && account.imagePullSecrets?.length)
        pod.spec.imagePullSecrets = account.imagePullSecrets.map(({ name: secret }) => ({ name: secret }));
      return secretRefusal(account, pod);
    });
  },
  validate(asked) {
    const { object: pod, namespace } = asked;
    if (isMirror(pod)) return mirrorRefusal(pod);
    const name = pod.spec.serviceAccountName;
    if (!name) return `no service account specified for pod ${namespace}/${pod.metadata.name}`;
    return soon(accountOf(asked, name), (account) => (account ? secretRefusal(account, pod) : missing(asked, name)));
  },
});

const ephemeral = admissionPlugin({
  name: "ServiceAccount",
  on: { kind: Pod, verbs: ["update"], through: ["ephemeralcontainers"] },
  async validate(asked) {
    const { object: pod, namespace } = asked;
    const name = pod.spec.serviceAccountName;
    if (!name) return `no service account specified for pod ${namespace}/${pod.metadata.name}`;
    const account = await accountOf(asked, name);
    if (!account) return missing(asked, name);
    const { ephemeralContainers = [] } = pod.spec;
    return enforces(account) ? unreferencedSecret(account, { ephemeralContainers }) : undefined;
  },
});

export const serviceAccount = pluginOf("ServiceAccount", created, ephemeral);

const isMirror = ({ metadata }: Pod): boolean => metadata.annotations?.[mirrorAnnotation] !== undefined;

/** A pod that a node runs by itself is only shown here: it must not draw anything from the cluster. */
function mirrorRefusal(pod: Pod): AdmissionRefusal {
  if (pod.spec.serviceAccountName) return "a mirror pod may not reference service accounts";
  if (secretNames(pod.spec).next().done !== true) return "a mirror pod may not reference secrets";
  const projects = (pod.spec.volumes ?? []).some(({ projected }) =>
    projected?.sources?.some(({ serviceAccountToken }) => serviceAccountToken),
  );
  return projects ? "a mirror pod may not use ServiceAccountToken volume projections" : undefined;
}

const missing = ({ namespace }: { readonly namespace: string }, name: string): string =>
  `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`;

type PodContext = Pick<AdmissionRequest<unknown>, "namespace" | "server" | "signal">;

const accountOf = (asked: PodContext, name: string): Soon<ServiceAccount | undefined> =>
  asked.server.get(ServiceAccount, name, asked.namespace) ?? awaitedAccount(asked, name);

/** The default account of a new namespace is made by a controller: it is waited for, for a second or two. */
async function awaitedAccount(
  { namespace, server, signal }: PodContext,
  name: string,
): Promise<ServiceAccount | undefined> {
  const tries = name === defaultName ? 10 : 1;
  const pauseMs = 100 + server.random.below(100);
  for (let i = 0; i < tries; i++) {
    if (i > 0) await server.clock.sleep(pauseMs, signal);
    await server.settled(signal);
    const found = server.get(ServiceAccount, name, namespace);
    if (found) return found;
  }
  return undefined;
}

const enforces = ({ metadata }: ServiceAccount): boolean =>
  /^(1|t|T|TRUE|true|True)$/.test(metadata.annotations?.[enforceAnnotation] ?? "");

const secretRefusal = (account: ServiceAccount, { spec }: Pod): AdmissionRefusal =>
  enforces(account) ? unreferencedSecret(account, spec) : undefined;

function mountToken({ spec }: Mutable<Pod>, newName: () => string): void {
  const present = spec.volumes?.find(({ name }) => name.startsWith(volumePrefix))?.name;
  const lacking = [...(spec.initContainers ?? []), ...spec.containers].filter(
    ({ volumeMounts }) => !volumeMounts?.some((mount) => mount.mountPath === mountPath),
  );
  if (lacking.length === 0) return;
  const name = present ?? newName();
  for (const container of lacking)
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath }];
  if (present === undefined) spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)] as Mutable<Volume>[];
}

/** The same for all pods, and most of what a small pod takes: so they share it. */
const projected: Draft<Volume>["projected"] = deepFreeze({
  sources: [
    { serviceAccountToken: { expirationSeconds: tokenSeconds, path: "token" } },
    { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    {
      downwardAPI: {
        items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
      },
    },
  ],
  defaultMode,
});

const tokenVolume = (name: string): Draft<Volume> => ({ name, projected });
