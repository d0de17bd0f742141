import { knarrVersion, kubernetesVersion } from "#api/release.ts";

export { knarrVersion, kubernetesVersion };

/** What `/version` answers. */
export function apiVersionInfo(gitVersion = kubernetesVersion) {
  const [major = "", minor = ""] = kubernetesVersion.slice(1).split(".");
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion,
    gitCommit: `knarr-${knarrVersion}`,
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "none",
    compiler: "V8",
    platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
  };
}
