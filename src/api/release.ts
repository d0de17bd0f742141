/** Our own version, and the Kubernetes release whose behaviour we reproduce. */
export const knarrVersion = "0.1.0";
export const kubernetesVersion = "v1.36.4";
