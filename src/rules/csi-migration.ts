// Which CSI drivers have taken the place of in-tree ones, as in upstream's k8s.io/csi-translation-lib. All of these migrations are on and
// cannot be turned off.
// Upstream: staging/src/k8s.io/csi-translation-lib/translate.go.
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { own } from "#base/collections.ts";

const drivers: Readonly<Record<string, string>> = {
  "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
  "kubernetes.io/azure-disk": "disk.csi.azure.com",
  "kubernetes.io/azure-file": "file.csi.azure.com",
  "kubernetes.io/cinder": "cinder.csi.openstack.org",
  "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
  "kubernetes.io/portworx-volume": "pxd.portworx.com",
  "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
};

const sources = {
  awsElasticBlockStore: "kubernetes.io/aws-ebs",
  azureDisk: "kubernetes.io/azure-disk",
  azureFile: "kubernetes.io/azure-file",
  cinder: "kubernetes.io/cinder",
  gcePersistentDisk: "kubernetes.io/gce-pd",
  portworxVolume: "kubernetes.io/portworx-volume",
  vsphereVolume: "kubernetes.io/vsphere-volume",
} as const;

/** The in-tree drivers whose place a CSI driver has taken. */
export const migratedDrivers: readonly string[] = Object.keys(drivers).toSorted();

/** The CSI driver that does the work of an in-tree one; undefined for all other names. */
export const csiNameOf = (inTreeName: string): string | undefined => own(drivers, inTreeName);

/** The in-tree driver of a volume, if a CSI driver has taken its place. */
export function migratedSource({ spec }: PersistentVolume): string | undefined {
  for (const [field, name] of Object.entries(sources))
    if (spec[field as keyof typeof sources] !== undefined) return name;
  return undefined;
}
