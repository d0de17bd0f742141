import { type Infer, inline, int32, int64, intOrString, list, ref, string, struct } from "#schema/index.ts";

export const ExecAction = struct("core/v1.ExecAction", {
  command: list(1, "string"),
});
export interface ExecAction extends Infer<typeof ExecAction> {}

export const GRPCAction = struct("core/v1.GRPCAction", {
  port: int32(1).required(),
  service: string(2).pointer(),
});
export interface GRPCAction extends Infer<typeof GRPCAction> {}

export const HTTPHeader = struct("core/v1.HTTPHeader", {
  name: string(1).required(),
  value: string(2).required(),
});
export interface HTTPHeader extends Infer<typeof HTTPHeader> {}

export const HTTPGetAction = struct("core/v1.HTTPGetAction", {
  path: string(1).default("/"),
  port: intOrString(2).required(),
  host: string(3),
  scheme: string(4).oneOf("HTTP", "HTTPS").default("HTTP"),
  httpHeaders: list(5, HTTPHeader),
});
export interface HTTPGetAction extends Infer<typeof HTTPGetAction> {}

export const TCPSocketAction = struct("core/v1.TCPSocketAction", {
  port: intOrString(1).required(),
  host: string(2),
});
export interface TCPSocketAction extends Infer<typeof TCPSocketAction> {}

export const SleepAction = struct("core/v1.SleepAction", {
  seconds: int64(1).required(),
});
export interface SleepAction extends Infer<typeof SleepAction> {}

export const LifecycleHandler = struct("core/v1.LifecycleHandler", {
  exec: ref(1, ExecAction),
  httpGet: ref(2, HTTPGetAction),
  tcpSocket: ref(3, TCPSocketAction),
  sleep: ref(4, SleepAction),
});
export interface LifecycleHandler extends Infer<typeof LifecycleHandler> {}

export const Lifecycle = struct("core/v1.Lifecycle", {
  postStart: ref(1, LifecycleHandler),
  preStop: ref(2, LifecycleHandler),
  stopSignal: string(3)
    .oneOf(
      "SIGABRT",
      "SIGALRM",
      "SIGBUS",
      "SIGCHLD",
      "SIGCLD",
      "SIGCONT",
      "SIGFPE",
      "SIGHUP",
      "SIGILL",
      "SIGINT",
      "SIGIO",
      "SIGIOT",
      "SIGKILL",
      "SIGPIPE",
      "SIGPOLL",
      "SIGPROF",
      "SIGPWR",
      "SIGQUIT",
      "SIGRTMAX",
      "SIGRTMAX-1",
      "SIGRTMAX-10",
      "SIGRTMAX-11",
      "SIGRTMAX-12",
      "SIGRTMAX-13",
      "SIGRTMAX-14",
      "SIGRTMAX-2",
      "SIGRTMAX-3",
      "SIGRTMAX-4",
      "SIGRTMAX-5",
      "SIGRTMAX-6",
      "SIGRTMAX-7",
      "SIGRTMAX-8",
      "SIGRTMAX-9",
      "SIGRTMIN",
      "SIGRTMIN+1",
      "SIGRTMIN+10",
      "SIGRTMIN+11",
      "SIGRTMIN+12",
      "SIGRTMIN+13",
      "SIGRTMIN+14",
      "SIGRTMIN+15",
      "SIGRTMIN+2",
      "SIGRTMIN+3",
      "SIGRTMIN+4",
      "SIGRTMIN+5",
      "SIGRTMIN+6",
      "SIGRTMIN+7",
      "SIGRTMIN+8",
      "SIGRTMIN+9",
      "SIGSEGV",
      "SIGSTKFLT",
      "SIGSTOP",
      "SIGSYS",
      "SIGTERM",
      "SIGTRAP",
      "SIGTSTP",
      "SIGTTIN",
      "SIGTTOU",
      "SIGURG",
      "SIGUSR1",
      "SIGUSR2",
      "SIGVTALRM",
      "SIGWINCH",
      "SIGXCPU",
      "SIGXFSZ",
    )
    .pointer(),
});
export interface Lifecycle extends Infer<typeof Lifecycle> {}

export const ProbeHandler = struct("core/v1.ProbeHandler", {
  exec: ref(1, ExecAction),
  httpGet: ref(2, HTTPGetAction),
  tcpSocket: ref(3, TCPSocketAction),
  grpc: ref(4, GRPCAction),
});
export interface ProbeHandler extends Infer<typeof ProbeHandler> {}

export const Probe = struct("core/v1.Probe", {
  ...inline(1, ProbeHandler),
  initialDelaySeconds: int32(2),
  timeoutSeconds: int32(3).default(1),
  periodSeconds: int32(4).default(10),
  successThreshold: int32(5).default(1),
  failureThreshold: int32(6).default(3),
  terminationGracePeriodSeconds: int64(7).pointer(),
});
export interface Probe extends Infer<typeof Probe> {}
