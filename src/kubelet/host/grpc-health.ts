// Asks a gRPC health service (grpc.health.v1) whether it serves.
import { Client, status as codes, credentials, Metadata } from "@grpc/grpc-js";
import { int, message, text } from "#base/host/protobuf.ts";
import type { ProbeOutcome } from "../probes/run-probe.ts";

const HealthRequest = message("HealthCheckRequest", { service: text(1) });
const HealthResponse = message("HealthCheckResponse", { status: int(1) });
const states = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];
const serving = 1;

export function askHealth(host: string, port: number, service: string, signal: AbortSignal): Promise<ProbeOutcome> {
  const address = host.includes(":") ? `ipv6:[${host}]:${port}` : `ipv4:${host}:${port}`;
  const client = new Client(address, credentials.createInsecure(), {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_retries": 0,
    "grpc.enable_http_proxy": 0,
    "grpc.service_config_disable_resolution": 1,
  });
  return new Promise<ProbeOutcome>((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const call = client.makeUnaryRequest<Uint8Array, { readonly status: number }>(
      "/grpc.health.v1.Health/Check",
      (bytes) => Buffer.from(bytes),
      (bytes) => HealthResponse.decode(bytes),
      HealthRequest.encode({ service }),
      new Metadata(),
      (error, answer) => {
        signal.removeEventListener("abort", aborted);
        if (signal.aborted) reject(signal.reason);
        else if (error) resolve({ result: "failure", output: refusal(error.code, error.details, host, port) });
        else if (answer?.status === serving) resolve({ result: "success", output: "service is serving" });
        else
          resolve({ result: "failure", output: `service unhealthy (responded with "${states[answer?.status ?? 0]}")` });
      },
    );
    const aborted = () => call.cancel();
    signal.addEventListener("abort", aborted, { once: true });
  }).finally(() => client.close());
}

const refusal = (code: number, details: string, host: string, port: number): string =>
  code === codes.UNIMPLEMENTED
    ? `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${details}`
    : code === codes.UNAVAILABLE
      ? `error: failed to connect service at "${host}:${port}": ${details}`
      : `error: health rpc probe failed: ${details}`;
