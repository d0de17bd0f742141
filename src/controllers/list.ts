// Every controller, with the name it is switched by and the service account it works under. Adding one is its file and a line here.
// Three are components of their own: garbage/collector.ts and resourcequota/controller.ts follow any kind, pod-garbage/collector.ts
// looks at all pods at times.
import type { Controller } from "#client/controller.ts";
import type { Discovery } from "#client/discovery.ts";
import type { AnyKind } from "#schema/kind.ts";
import { tokenCleanerController } from "./bootstrap-tokens/cleaner.ts";
import { bootstrapSignerController } from "./bootstrap-tokens/signer.ts";
import { csrApprovingController } from "./certificates/approving.ts";
import { csrCleanerController } from "./certificates/cleaner.ts";
import { csrSigningController, type SigningSettings } from "./certificates/signing.ts";
import { clusterRoleAggregationController } from "./clusterrole-aggregation.ts";
import { cronJobController } from "./cronjob/cronjob.ts";
import { daemonSetController } from "./daemonset/daemonset.ts";
import { deploymentController } from "./deployment/deployment.ts";
import { deviceTaintEvictionController } from "./device-taint-eviction.ts";
import { disruptionController } from "./disruption/disruption.ts";
import { staleDisruptionController } from "./disruption/stale-targets.ts";
import { endpointsController } from "./endpoints/endpoints.ts";
import { endpointSliceController } from "./endpointslice/endpointslice.ts";
import { endpointSliceMirroringController } from "./endpointslice/mirroring.ts";
import { horizontalPodAutoscalerController } from "./horizontal-pod-autoscaler/horizontal-pod-autoscaler.ts";
import type { AutoscalerSettings } from "./horizontal-pod-autoscaler/settings.ts";
import { jobController } from "./job/job.ts";
import { jobOrphanController } from "./job/orphans.ts";
import { legacyTokenCleaner } from "./legacy-token-cleaner.ts";
import { leftNodeController } from "./machines/left-nodes.ts";
import { servingApprovingController } from "./machines/serving-approving.ts";
import { namespaceController } from "./namespace.ts";
import { nodeIpamController } from "./node-ipam/node-ipam.ts";
import type { NodeIpamSettings } from "./node-ipam/settings.ts";
import { type NodeLifecycleSettings, nodeLifecycleController } from "./node-lifecycle/node-lifecycle.ts";
import { replicaSetController } from "./replicaset.ts";
import { replicationControllerController } from "./replicationcontroller.ts";
import { claimCleanupController } from "./resourceclaim/claim-cleanup.ts";
import { podResourceClaimController } from "./resourceclaim/pod-claims.ts";
import { rootCaPublisher } from "./root-ca-publisher.ts";
import { serviceCidrController } from "./service-cidr.ts";
import { serviceLbController } from "./service-lb/service-lb.ts";
import { serviceAccountController } from "./serviceaccount.ts";
import { serviceAccountTokenController, type TokenSettings } from "./serviceaccount-token.ts";
import { statefulSetController } from "./statefulset/statefulset.ts";
import { taintEvictionController } from "./taint-eviction.ts";
import { ttlController } from "./ttl.ts";
import { ttlAfterFinishedController } from "./ttl-after-finished.ts";
import { validatingAdmissionPolicyStatusController } from "./validatingadmissionpolicy-status.ts";
import {
  attributesClassProtectionController,
  claimProtectionController,
  volumeProtectionController,
} from "./volume-protection.ts";
import { attachDetachController } from "./volumes/attach-detach.ts";
import { claimBinder } from "./volumes/claim-binder.ts";
import { ephemeralVolumeController } from "./volumes/ephemeral.ts";
import { expansionController } from "./volumes/expansion.ts";
import { volumeBinder } from "./volumes/volume-binder.ts";

export interface ListedController {
  /** As `--controllers` names it. */
  readonly name: string;
  /** In kube-system. Who makes tokens for accounts needs none: it acts as the controller manager itself. */
  readonly serviceAccount: string | undefined;
  readonly controller: Controller<AnyKind>;
}

export interface ControllerSettings {
  readonly discovery: Discovery;
  /** What the API server's certificate is checked against, in PEM. */
  readonly rootCa: string;
  /** Makes tokens for secrets that are meant for some; none are made without. */
  readonly signToken?: TokenSettings["sign"];
  /** Signs certificates that were asked for and approved; none are without. */
  readonly signing?: SigningSettings;
  /** How long a token in a secret may go unused; defaults to a year. */
  readonly unusedTokenMs?: number;
  /** Where nodes get networks for their pods from; they get none by default. */
  readonly nodeIpam?: NodeIpamSettings;
  /** How long nodes may be silent, and how fast those are emptied that do not work; defaults to upstream's numbers. */
  readonly nodeLifecycle?: Partial<NodeLifecycleSettings>;
  /** How often and how carefully autoscalers act; defaults to upstream's numbers. */
  readonly autoscaler?: Partial<AutoscalerSettings>;
  /** From which services of type LoadBalancer get addresses: networks or ranges. Without, they wait for someone else to give them. */
  readonly loadBalancerAddresses?: readonly string[];
  /** The account of the controllers that look after machines that join and leave; there are none without. */
  readonly machineAccount?: string;
}

export const controllers = ({
  discovery,
  rootCa,
  signToken,
  signing,
  unusedTokenMs,
  nodeIpam,
  nodeLifecycle,
  autoscaler,
  loadBalancerAddresses,
  machineAccount,
}: ControllerSettings): readonly ListedController[] => [
  listed("bootstrap-signer-controller", bootstrapSignerController, "bootstrap-signer"),
  listed("certificatesigningrequest-approving-controller", csrApprovingController, "certificate-controller"),
  listed("certificatesigningrequest-cleaner-controller", csrCleanerController, "certificate-controller"),
  ...(signing
    ? [listed("certificatesigningrequest-signing-controller", csrSigningController(signing), "certificate-controller")]
    : []),
  listed("clusterrole-aggregation-controller", clusterRoleAggregationController),
  listed("cronjob-controller", cronJobController()),
  listed("daemonset-controller", daemonSetController(), "daemon-set-controller"),
  listed("deployment-controller", deploymentController),
  listed("device-taint-eviction-controller", deviceTaintEvictionController),
  listed("disruption-controller", disruptionController(discovery)),
  listed("disruption-controller", staleDisruptionController),
  listed("endpoints-controller", endpointsController(), "endpoint-controller"),
  listed("endpointslice-controller", endpointSliceController()),
  listed("endpointslice-mirroring-controller", endpointSliceMirroringController, "endpointslicemirroring-controller"),
  listed("ephemeral-volume-controller", ephemeralVolumeController),
  listed(
    "horizontal-pod-autoscaler-controller",
    horizontalPodAutoscalerController(discovery, autoscaler),
    "horizontal-pod-autoscaler",
  ),
  listed("job-controller", jobController()),
  listed("job-controller", jobOrphanController),
  listed(
    "legacy-serviceaccount-token-cleaner-controller",
    legacyTokenCleaner(unusedTokenMs),
    "legacy-service-account-token-cleaner",
  ),
  ...(machineAccount === undefined
    ? []
    : [
        listed("left-node-controller", leftNodeController, machineAccount),
        listed("kubelet-serving-approving-controller", servingApprovingController, machineAccount),
      ]),
  listed("namespace-controller", namespaceController(discovery)),
  ...(nodeIpam ? [listed("node-ipam-controller", nodeIpamController(nodeIpam), "node-controller")] : []),
  listed("node-lifecycle-controller", nodeLifecycleController(nodeLifecycle), "node-controller"),
  listed("persistentvolume-attach-detach-controller", attachDetachController(), "attachdetach-controller"),
  listed("persistentvolume-binder-controller", claimBinder(), "persistent-volume-binder"),
  listed("persistentvolume-binder-controller", volumeBinder, "persistent-volume-binder"),
  listed("persistentvolume-expander-controller", expansionController, "expand-controller"),
  listed("persistentvolume-protection-controller", volumeProtectionController, "pv-protection-controller"),
  listed("persistentvolumeclaim-protection-controller", claimProtectionController, "pvc-protection-controller"),
  listed("replicaset-controller", replicaSetController),
  listed("replicationcontroller-controller", replicationControllerController, "replication-controller"),
  listed("resourceclaim-controller", podResourceClaimController, "resource-claim-controller"),
  listed("resourceclaim-controller", claimCleanupController, "resource-claim-controller"),
  listed("root-ca-certificate-publisher-controller", rootCaPublisher(rootCa), "root-ca-cert-publisher"),
  listed("service-cidr-controller", serviceCidrController, "service-cidrs-controller"),
  listed("service-lb-controller", serviceLbController(loadBalancerAddresses), "service-controller"),
  listed("serviceaccount-controller", serviceAccountController, "service-account-controller"),
  ...(signToken ? [tokens(serviceAccountTokenController({ rootCa, sign: signToken }))] : []),
  listed("statefulset-controller", statefulSetController),
  listed("taint-eviction-controller", taintEvictionController(), "node-controller"),
  listed("token-cleaner-controller", tokenCleanerController, "token-cleaner"),
  listed("ttl-after-finished-controller", ttlAfterFinishedController),
  listed("ttl-controller", ttlController()),
  listed("validatingadmissionpolicy-status-controller", validatingAdmissionPolicyStatusController),
  listed("volumeattributesclass-protection-controller", attributesClassProtectionController),
];

const listed = (name: string, controller: Controller<AnyKind>, serviceAccount = name): ListedController => ({
  name,
  serviceAccount,
  controller,
});

const tokens = (controller: Controller<AnyKind>): ListedController => ({
  name: "serviceaccount-token-controller",
  serviceAccount: undefined,
  controller,
});
