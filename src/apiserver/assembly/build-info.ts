import type { MetricRegistry } from "#base/metrics.ts";
import type { AssemblyOptions } from "./options.ts";

/** Which build this is, as a series that is always 1. */
export function declareBuild(metrics: MetricRegistry, version: AssemblyOptions["version"]): void {
  const labels = {
    major: version.major,
    minor: version.minor,
    git_version: version.gitVersion,
    git_commit: version.gitCommit,
    git_tree_state: version.gitTreeState,
    build_date: version.buildDate,
    go_version: version.goVersion,
    compiler: version.compiler,
    platform: version.platform,
  };
  const build = metrics.gauge({
    name: "kubernetes_build_info",
    help: "Which build this is.",
    labels: Object.keys(labels),
    stability: "BETA",
  });
  build.of(...Object.values(labels).map((value) => value ?? "")).set(1);
}
