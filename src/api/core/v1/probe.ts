// How the kubelet asks a container how it is, and tells it what happens.
import {
  type Infer,
  inline,
  int32,
  int64,
  intOrString,
  list,
  type Problem,
  ref,
  string,
  struct,
} from "#schema/index.ts";
import { checkHandler, checkHeaders, checkPort, checkProbe } from "./checks/probes.ts";
import { signals } from "./signals.ts";

export const ExecAction = struct(
  "core/v1.ExecAction",
  {
    command: list(1, "string", "Program and arguments; not run in a shell.").nonEmpty(),
  },
  { doc: "Runs a command in the container; exit code 0 is success." },
);
export interface ExecAction extends Infer<typeof ExecAction> {}

export const GRPCAction = struct(
  "core/v1.GRPCAction",
  {
    port: int32(1, "Port the service listens on.").required().min(1).max(65535),
    service: string(2, "Service name to put in the health request.").pointer().default(""),
  },
  { doc: "Asks a gRPC health service." },
);
export interface GRPCAction extends Infer<typeof GRPCAction> {}

export const HTTPHeader = struct(
  "core/v1.HTTPHeader",
  {
    name: string(1, "Name of the header.").required(),
    value: string(2, "Value of the header.").required(),
  },
  { doc: "A header to send along." },
);
export interface HTTPHeader extends Infer<typeof HTTPHeader> {}

export const HTTPGetAction = struct(
  "core/v1.HTTPGetAction",
  {
    path: string(1, "Path to ask for.").default("/"),
    port: intOrString(2, "Number of the port, or the name of one of the container's ports.").required(),
    host: string(3, "Host to connect to; the pod itself when left out."),
    scheme: string(4, "HTTP, or HTTPS without checking the certificate.").oneOf("HTTP", "HTTPS").default("HTTP"),
    httpHeaders: list(5, HTTPHeader, "Headers to send along."),
  },
  {
    doc: "Sends a GET request; any answer from 200 to 399 is success.",
    check: ({ port, httpHeaders }): Iterable<Problem> => [...checkPort(port), ...checkHeaders(httpHeaders)],
  },
);
export interface HTTPGetAction extends Infer<typeof HTTPGetAction> {}

export const TCPSocketAction = struct(
  "core/v1.TCPSocketAction",
  {
    port: intOrString(1, "Number of the port, or the name of one of the container's ports.").required(),
    host: string(2, "Host to connect to; the pod itself when left out."),
  },
  { doc: "Opens a connection; that it opens is success.", check: ({ port }): Iterable<Problem> => checkPort(port) },
);
export interface TCPSocketAction extends Infer<typeof TCPSocketAction> {}

export const SleepAction = struct(
  "core/v1.SleepAction",
  {
    seconds: int64(1, "How long to wait.").required(),
  },
  { doc: "Waits." },
);
export interface SleepAction extends Infer<typeof SleepAction> {}

export const LifecycleHandler = struct(
  "core/v1.LifecycleHandler",
  {
    exec: ref(1, ExecAction, "Run a command."),
    httpGet: ref(2, HTTPGetAction, "Send an HTTP request."),
    tcpSocket: ref(3, TCPSocketAction, "No longer supported; kept so that old objects can be read."),
    sleep: ref(4, SleepAction, "Wait for a while."),
  },
  {
    doc: "What to do at a moment of a container's life; exactly one of these.",
    check: (handler): Iterable<Problem> => checkHandler(handler),
  },
);
export interface LifecycleHandler extends Infer<typeof LifecycleHandler> {}

export const Lifecycle = struct(
  "core/v1.Lifecycle",
  {
    postStart: ref(
      1,
      LifecycleHandler,
      "Done right after the container started; if it fails, the container is killed.",
    ),
    preStop: ref(2, LifecycleHandler, "Done before the container is told to stop, within the grace period."),
    stopSignal: string(3, "The signal that tells the container to stop; the image's own when left out.")
      .oneOf(...signals)
      .off("ContainerStopSignals")
      .pointer(),
  },
  { doc: "What to do when a container starts and stops." },
);
export interface Lifecycle extends Infer<typeof Lifecycle> {}

export const ProbeHandler = struct(
  "core/v1.ProbeHandler",
  {
    exec: ref(1, ExecAction, "Run a command."),
    httpGet: ref(2, HTTPGetAction, "Send an HTTP request."),
    tcpSocket: ref(3, TCPSocketAction, "Open a TCP connection."),
    grpc: ref(4, GRPCAction, "Ask a gRPC health service."),
  },
  { doc: "How to ask; exactly one of these." },
);
export interface ProbeHandler extends Infer<typeof ProbeHandler> {}

export const Probe = struct(
  "core/v1.Probe",
  {
    ...inline(1, ProbeHandler),
    initialDelaySeconds: int32(2, "Seconds after the start before the first time.").min(0),
    timeoutSeconds: int32(3, "Seconds after which no answer is a failure.").min(0).default(1),
    periodSeconds: int32(4, "Seconds from one time to the next.").min(0).default(10),
    successThreshold: int32(5, "Successes in a row after which it counts as healthy.").min(0).default(1),
    failureThreshold: int32(6, "Failures in a row after which it counts as failed.").min(0).default(3),
    terminationGracePeriodSeconds: int64(
      7,
      "Seconds to end in after this probe failed, in place of the pod's.",
    ).pointer(),
  },
  { doc: "A check of a container that is repeated.", check: (probe): Iterable<Problem> => checkProbe(probe) },
);
export interface Probe extends Infer<typeof Probe> {}
