import type { ContainerStateTerminated } from "#api/core/v1/container-status.ts";

const signalNames: Readonly<Record<number, string>> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  15: "SIGTERM",
};

/** How a container ended, going on from its name. */
export function exitText(ended: ContainerStateTerminated | undefined): string {
  if (!ended) return "ended";
  const { exitCode, reason } = ended;
  if (reason === "OOMKilled") return "was killed because it used more memory than it may";
  const signal = ended.signal || (exitCode > 128 && exitCode < 160 ? exitCode - 128 : 0);
  if (signal) return `was ended by signal ${signal}${signalNames[signal] ? ` (${signalNames[signal]})` : ""}`;
  if (exitCode === 127) return "ended with exit code 127: its command was not found";
  if (exitCode === 126) return "ended with exit code 126: its command cannot be executed";
  return `ended with exit code ${exitCode}`;
}
