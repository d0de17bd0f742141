// Services (upstream: kubectl/pkg/cmd/create/create_service.go and run.go).
import { KubectlError } from "../errors.ts";
import type { KubeObject } from "../rest/client.ts";
import { filled } from "./generated.ts";

export interface ServiceRequest {
  readonly name: string;
  readonly type: "ClusterIP" | "NodePort" | "LoadBalancer" | "ExternalName";
  /** `80`, `80:8080` or `80:http`. */
  readonly tcp: readonly string[];
  readonly clusterIp?: string;
  readonly nodePort?: number;
  readonly externalName?: string;
}

/** `kubectl create service`. Throws KubectlError. */
export function serviceOf({
  name,
  type,
  tcp,
  clusterIp = "",
  nodePort = 0,
  externalName = "",
}: ServiceRequest): KubeObject {
  const ports = tcp.map((text) => ({
    name: text.replaceAll(":", "-"),
    ...(nodePort !== 0 && { nodePort }),
    ...servicePort(text),
  }));
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { labels: { app: name }, name },
    spec: {
      ...filled("clusterIP", clusterIp),
      ...filled("externalName", externalName),
      ...filled("ports", ports),
      selector: { app: name },
      type,
    },
    status: { loadBalancer: {} },
  };
}

function servicePort(text: string): KubeObject {
  const [portText = "", target] = text.split(":");
  const port = portNumber(portText, 0);
  if (target === undefined) return { port, protocol: "TCP", targetPort: port };
  if (/^[+-]?\d+$/.test(target)) return { port, protocol: "TCP", targetPort: portNumber(target, 1) };
  const problem = portNameProblem(target);
  if (problem !== undefined) throw new KubectlError(problem);
  return { port, protocol: "TCP", targetPort: target };
}

function portNumber(text: string, least: number): number {
  if (!/^[+-]?\d+$/.test(text))
    throw new KubectlError(`strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`);
  const port = Number(text);
  if (port < least || port > 65535)
    throw new KubectlError(
      least === 0
        ? `strconv.ParseUint: parsing ${JSON.stringify(text)}: value out of range`
        : "must be between 1 and 65535, inclusive",
    );
  return port;
}

function portNameProblem(name: string): string | undefined {
  if (name.length > 15) return "must be no more than 15 characters";
  if (!/^[-a-z0-9]+$/.test(name)) return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
  if (!/[a-z]/.test(name)) return "must contain at least one letter (a-z)";
  if (name.includes("--")) return "must not contain consecutive hyphens";
  return /^-|-$/.test(name) ? "must not begin or end with a hyphen" : undefined;
}

/** The service of `kubectl run --expose`. */
export const serviceOfPod = (
  name: string,
  port: string,
  labels: Readonly<Record<string, string>>,
  selector: Readonly<Record<string, string>>,
): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { ...filled("labels", labels), name },
  spec: { ports: [{ port: Number(port), protocol: "TCP", targetPort: Number(port) }], selector },
  status: { loadBalancer: {} },
});
