import {
  bool,
  forbidden,
  type Infer,
  int64,
  invalid,
  list,
  type Problem,
  string,
  struct,
  time,
  typeMeta,
} from "#schema/index.ts";

export const NodeProxyOptions = struct(
  "core/v1.NodeProxyOptions",
  {
    ...typeMeta,
    path: string(1, "Where the request goes on to, with its query."),
  },
  { doc: "How to pass a request on." },
);
export interface NodeProxyOptions extends Infer<typeof NodeProxyOptions> {}

export const PodAttachOptions = struct(
  "core/v1.PodAttachOptions",
  {
    ...typeMeta,
    stdin: bool(1, "Whether to send input."),
    stdout: bool(2, "Whether to receive output."),
    stderr: bool(3, "Whether to receive errors apart from the output; not with a terminal."),
    tty: bool(4, "Whether the process has a terminal."),
    container: string(5, "The container; defaults to the only one."),
  },
  { doc: "How to attach to a running container." },
);
export interface PodAttachOptions extends Infer<typeof PodAttachOptions> {}

export const PodExecOptions = struct(
  "core/v1.PodExecOptions",
  {
    ...typeMeta,
    stdin: bool(1, "Whether to send input."),
    stdout: bool(2, "Whether to receive output."),
    stderr: bool(3, "Whether to receive errors apart from the output; not with a terminal."),
    tty: bool(4, "Whether the process has a terminal."),
    container: string(5, "The container; defaults to the only one."),
    command: list(6, "string", "The command and its arguments; no shell looks at it.").required(),
  },
  { doc: "How to run a command in a container." },
);
export interface PodExecOptions extends Infer<typeof PodExecOptions> {}

export const PodLogOptions = struct(
  "core/v1.PodLogOptions",
  {
    ...typeMeta,
    container: string(1, "The container; defaults to the only one."),
    follow: bool(2, "Whether to wait for more at the end."),
    previous: bool(3, "Whether to read the log of the run before."),
    sinceSeconds: int64(4, "Only lines of the last so many seconds.").pointer(),
    sinceTime: time(5, "Only lines from then on.").pointer(),
    timestamps: bool(6, "Whether each line begins with its time."),
    tailLines: int64(7, "Only so many lines from the end.").pointer(),
    limitBytes: int64(8, "At most so many bytes.").pointer(),
    insecureSkipTLSVerifyBackend: bool(9, "Whether to trust a node whose certificate cannot be checked."),
    stream: string(10, "All, Stdout or Stderr.").off("PodLogsQuerySplitStreams").pointer().default("All"),
  },
  {
    doc: "Which part of a log to read.",
    *check({ tailLines, limitBytes, sinceSeconds, sinceTime }): Iterable<Problem> {
      if (limitBytes !== undefined && limitBytes < 1) yield invalid("limitBytes", "must be greater than 0");
      if (tailLines !== undefined && tailLines < 0) yield invalid("tailLines", "must be greater than or equal to 0");
      if (sinceSeconds !== undefined && sinceTime !== undefined)
        yield forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified");
      else if (sinceSeconds !== undefined && sinceSeconds < 1) yield invalid("sinceSeconds", "must be greater than 0");
    },
  },
);
export interface PodLogOptions extends Infer<typeof PodLogOptions> {}

export const PodPortForwardOptions = struct(
  "core/v1.PodPortForwardOptions",
  {
    ...typeMeta,
    ports: list(1, "int32", "The ports of the pod."),
  },
  { doc: "Which ports to reach." },
);
export interface PodPortForwardOptions extends Infer<typeof PodPortForwardOptions> {}

export const PodProxyOptions = struct(
  "core/v1.PodProxyOptions",
  {
    ...typeMeta,
    path: string(1, "Where the request goes on to, with its query."),
  },
  { doc: "How to pass a request on." },
);
export interface PodProxyOptions extends Infer<typeof PodProxyOptions> {}

export const ServiceProxyOptions = struct(
  "core/v1.ServiceProxyOptions",
  {
    ...typeMeta,
    path: string(1, "Where the request goes on to, with its query."),
  },
  { doc: "How to pass a request on." },
);
export interface ServiceProxyOptions extends Infer<typeof ServiceProxyOptions> {}
