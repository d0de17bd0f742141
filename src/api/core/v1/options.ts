import { bool, type Infer, int64, list, string, struct, time, typeMeta } from "#schema/index.ts";

export const NodeProxyOptions = struct("core/v1.NodeProxyOptions", {
  ...typeMeta,
  path: string(1),
});
export interface NodeProxyOptions extends Infer<typeof NodeProxyOptions> {}

export const PodAttachOptions = struct("core/v1.PodAttachOptions", {
  ...typeMeta,
  stdin: bool(1),
  stdout: bool(2),
  stderr: bool(3),
  tty: bool(4),
  container: string(5),
});
export interface PodAttachOptions extends Infer<typeof PodAttachOptions> {}

export const PodExecOptions = struct("core/v1.PodExecOptions", {
  ...typeMeta,
  stdin: bool(1),
  stdout: bool(2),
  stderr: bool(3),
  tty: bool(4),
  container: string(5),
  command: list(6, "string").required(),
});
export interface PodExecOptions extends Infer<typeof PodExecOptions> {}

export const PodLogOptions = struct("core/v1.PodLogOptions", {
  ...typeMeta,
  container: string(1),
  follow: bool(2),
  previous: bool(3),
  sinceSeconds: int64(4).pointer(),
  sinceTime: time(5).pointer(),
  timestamps: bool(6),
  tailLines: int64(7).pointer(),
  limitBytes: int64(8).pointer(),
  insecureSkipTLSVerifyBackend: bool(9),
  stream: string(10).off("PodLogsQuerySplitStreams").pointer().default("All"),
});
export interface PodLogOptions extends Infer<typeof PodLogOptions> {}

export const PodPortForwardOptions = struct("core/v1.PodPortForwardOptions", {
  ...typeMeta,
  ports: list(1, "int32"),
});
export interface PodPortForwardOptions extends Infer<typeof PodPortForwardOptions> {}

export const PodProxyOptions = struct("core/v1.PodProxyOptions", {
  ...typeMeta,
  path: string(1),
});
export interface PodProxyOptions extends Infer<typeof PodProxyOptions> {}

export const ServiceProxyOptions = struct("core/v1.ServiceProxyOptions", {
  ...typeMeta,
  path: string(1),
});
export interface ServiceProxyOptions extends Infer<typeof ServiceProxyOptions> {}
