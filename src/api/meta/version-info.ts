import { type Infer, string, struct } from "#schema/index.ts";

export const VersionInfo = struct(
  "version.Info",
  {
    major: string(0, "Major version of the API.").required(),
    minor: string(0, "Minor version of the API.").required(),
    emulationMajor: string(0, "Major version the server acts as."),
    emulationMinor: string(0, "Minor version the server acts as."),
    minCompatibilityMajor: string(0, "Major version of the oldest server it may run beside."),
    minCompatibilityMinor: string(0, "Minor version of the oldest server it may run beside."),
    gitVersion: string(0, "The whole version, as tools compare it.").required(),
    gitCommit: string(0, "The commit it was built from.").required(),
    gitTreeState: string(0, "Whether the tree was clean then.").required(),
    buildDate: string(0, "When it was built.").required(),
    goVersion: string(0, "What runs it.").required(),
    compiler: string(0, "What compiled it.").required(),
    platform: string(0, "Operating system and processor.").required(),
  },
  { doc: "The version of a server." },
);
export interface VersionInfo extends Infer<typeof VersionInfo> {}
