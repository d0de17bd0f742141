import type { NodeDescription } from "#kubelet/node/description.ts";

/** A node for tests that are about something else. */
export const testDescription: NodeDescription = {
  name: "n1",
  capacity: { cpu: "2", memory: "4Gi", pods: "10" },
  addresses: [{ type: "InternalIP", address: "192.0.2.7" }],
  system: {
    machineID: "",
    systemUUID: "",
    bootID: "",
    kernelVersion: "",
    osImage: "",
    containerRuntimeVersion: "simulated://1.0",
    kubeletVersion: "v1.36.4",
    kubeProxyVersion: "",
    operatingSystem: "linux",
    architecture: "amd64",
    swap: undefined,
  },
  port: 10250,
};
