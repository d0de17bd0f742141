// The feature gates of Kubernetes v1.36: their defaults, and which of them can no longer be changed. Features here are as v1.36 has them by
// default; a warning says of a gate that would change this that it has no effect. Follows component-base/featuregate upstream in what it refuses.
import { UsageError } from "#base/errors.ts";

const namesIn = (text: string): readonly string[] => text.split(/\s+/).filter((name) => name !== "");

const on = namesIn(`
  APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AllowServiceExternalIPs
  AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions CRDObservedGenerationTracking
  ClearingNominatedNodeNameAfterBinding ComponentFlagz ComponentStatusz ConstrainedImpersonation ContainerCheckpoint
  ContainerRestartRules ContextualLogging CustomCPUCFSQuotaPeriod DRAConsumableCapacity DRADeviceBindingConditions
  DRADeviceTaints DRAExtendedResource DRAPartitionableDevices DRAPrioritizedList DRAResourceClaimDeviceStatus
  DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout DeclarativeValidationBeta
  DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency DisableCPUQuotaWithExclusiveCPUs EnvFiles
  ExtendWebSocketsToKubelet GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance
  HostnameOverride InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScalingInitContainers
  KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages KubeletPodResourcesListUseActivePods
  KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
  MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
  MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs MutatingAdmissionPolicy
  NodeDeclaredFeatures NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching PLEGOnDemandRelist
  PodDeletionCost PodLevelResources PodReadyToStartContainersCondition PodTopologyLabelsAdmission
  PortForwardWebsockets PreventStaticPodAPIReferences RelaxedServiceNameValidation ReloadKubeletClientCAFile
  ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
  RestartAllContainersOnContainerExits RotateKubeletServerCertificate SchedulerAsyncPreemption
  SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction ServiceCIDRStatusFieldWiping
  SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
  StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison
  StorageNamespaceIndex StorageVersionHash StrictIPCIDRValidation StructuredAuthenticationConfigurationEgressSelector
  StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
  TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation
  UnknownVersionInteroperabilityProxy WatchCacheInitializationPostStartHook WatchList WindowsGracefulNodeShutdown
`);
const off = namesIn(`
  APIServingWithRoutine AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
  AllowUnsafeMalformedObjectDeletion CBORServingAndStorage CPUManagerPolicyAlphaOptions CRIListStreaming
  CSIVolumeHealth ChangeContainerStatusOnKubeletRestart CloudControllerManagerWatchBasedRoutesReconciliation
  CloudControllerManagerWebhook ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode
  ContainerStopSignals ControllerManagerReleaseLeaderElectionLockOnExit CoordinatedLeaderElection
  CrossNamespaceVolumeDataSource DRADeviceTaintRules DRAListTypeAttributes DRANodeAllocatableResources
  DRAResourcePoolStatus DRAWorkloadResourceClaims DeclarativeValidationTakeover EventedPLEG GangScheduling
  GenericWorkload HPAScaleToZero ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs
  InPlacePodVerticalScalingExclusiveMemory KMSv1 KubeletInUserNamespace KubeletRegistrationGetOnExistsOnly
  LocalStorageCapacityIsolationFSQuotaMonitoring LoggingAlphaOptions ManifestBasedAdmissionControlConfig
  MaxUnavailableStatefulSet MemoryQoS MutablePVNodeAffinity NativeHistograms PersistentVolumeClaimUnusedSinceTime
  PodAndContainerStatsFromCRI PodCertificateRequest PodLevelResourceManagers PodLogsQuerySplitStreams PodsAPI
  QOSReserved ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi SELinuxMount SchedulerAsyncAPICalls
  ShardedListAndWatch StorageCapacityScoring StorageVersionAPI StorageVersionMigrator
  TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions
  UserNamespacesHostNetworkSupport VolumeLimitScaling WindowsCPUAndMemoryAffinity WindowsHostNetwork
  WorkloadAwarePreemption WorkloadWithJob
`);
const alwaysOn = namesIn(`
  APIServerTracing AggregatedDiscoveryRemoveBetaType AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
  AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyOptions CRDValidationRatcheting
  CSIServiceAccountTokenSecrets ConsistentListFromCache CustomResourceFieldSelectors DRAAdminAccess
  DeclarativeValidation DisableAllocatorDualWrite DisableNodeKubeProxyVersion DynamicResourceAllocation
  ExecProbeTimeout ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume InPlacePodVerticalScaling
  JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI
  KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing
  LogarithmicScaleDown MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator MutableCSINodeAllocatableCount
  NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap OrderedNamespaceDeletion
  PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodObservedGenerationTracking PodSchedulingReadiness
  PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts
  RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation ResilientWatchCacheInitialization RetryGenerateName
  SELinuxChangePolicy SELinuxMountReadWriteOncePod SchedulerQueueingHints SeparateTaintEvictionController
  ServiceAccountTokenJTI ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
  ServiceAccountTokenPodNodeInfo SidecarContainers StreamingCollectionEncodingToJSON
  StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration SupplementalGroupsPolicy
  SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport VolumeAttributesClass WinDSR WinOverlay
`);
const alwaysOff = namesIn(`
  AllowOverwriteTerminationGracePeriodSeconds GitRepoVolumeDriver SeparateCacheWatchRPC
`);

interface FeatureGate {
  readonly isOn: boolean;
  readonly isLocked: boolean;
}

const all = (names: readonly string[], gate: FeatureGate) => names.map((name): [string, FeatureGate] => [name, gate]);

const gates: ReadonlyMap<string, FeatureGate> = new Map([
  ...all(on, { isOn: true, isLocked: false }),
  ...all(off, { isOn: false, isLocked: false }),
  ...all(alwaysOn, { isOn: true, isLocked: true }),
  ...all(alwaysOff, { isOn: false, isLocked: true }),
]);

/** All gates of a stage at once. */
const many: ReadonlySet<string> = new Set(["AllAlpha", "AllBeta"]);

/** The gates that are wanted in another way than they are by default. Throws UsageError for those that do not exist or cannot be changed. */
export function changedGates(pairs: readonly string[]): readonly string[] {
  return pairs.filter((pair) => {
    const [name = "", value = ""] = pair.split("=");
    if (!/^(true|false)$/i.test(value))
      throw new UsageError(`--feature-gates: ${JSON.stringify(pair)} is not of the form NAME=true or NAME=false`);
    const wanted = value.toLowerCase() === "true";
    if (many.has(name)) return wanted;
    const gate = gates.get(name);
    if (!gate) throw new UsageError(`--feature-gates: unrecognized feature gate: ${name}`);
    if (gate.isLocked && gate.isOn !== wanted)
      throw new UsageError(
        `--feature-gates: cannot set feature gate ${name} to ${wanted}, feature is locked to ${gate.isOn}`,
      );
    return gate.isOn !== wanted;
  });
}
