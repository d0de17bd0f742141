// Upstream: kubectl/pkg/cmd/version.
import { kubernetesVersion } from "#api/release.ts";
import { command } from "../command.ts";
import { KubectlError } from "../errors.ts";
import type { KubeObject } from "../rest/client.ts";

/** The release whose kustomize `-k` follows. */
const kustomizeVersion = "v5.7.1";
const supportedSkew = 1;

export const version = command({
  use: "version",
  long: "Print the versions of the client and, unless --client is given, of the server of the current context.",
  examples: "# Print the versions of client and server\nkubectl version",
  flags: {
    client: { type: "bool", help: "Print only the version of the client; no server is needed." },
    output: { type: "string", short: "o", help: "One of 'yaml' or 'json'." },
  },
  async run(session, args, { client: isClientOnly, output }) {
    if (!isClientOnly && args.length > 0) throw new KubectlError(`extra arguments: [${args.join(" ")}]`);
    if (!["", "yaml", "json"].includes(output)) throw new KubectlError("--output must be 'yaml' or 'json'");
    const clientVersion = ownVersion();
    let serverVersion: KubeObject | undefined;
    let failure: unknown;
    if (!isClientOnly)
      try {
        serverVersion = await (await session.client()).json({ path: "/version" });
      } catch (error) {
        failure = error; // the client's version is told all the same
      }
    const all = { clientVersion, kustomizeVersion, ...(serverVersion && { serverVersion }) };
    if (output === "json") session.print(JSON.stringify(all, undefined, 2));
    else if (output === "yaml") session.print((await import("#wire/yaml/write.ts")).printYaml(all));
    else {
      session.print(`Client Version: ${clientVersion.gitVersion}`);
      session.print(`Kustomize Version: ${kustomizeVersion}`);
      if (serverVersion) session.print(`Server Version: ${serverVersion.gitVersion}`);
    }
    const skew = serverVersion && skewWarning(clientVersion.gitVersion, String(serverVersion.gitVersion));
    if (skew !== undefined) {
      if (session.globals["warnings-as-errors"]) throw new KubectlError(skew);
      session.printError(`Warning: ${skew}`);
    }
    if (failure !== undefined) throw failure;
  },
});

function ownVersion() {
  const [major = "", minor = ""] = kubernetesVersion.slice(1).split(".");
  return {
    major,
    minor,
    gitVersion: kubernetesVersion,
    gitCommit: "knarr",
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "none",
    compiler: "V8",
    platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
  };
}

function skewWarning(client: string, server: string): string | undefined {
  const [ours, theirs] = [client, server].map((text) => {
    const [, major, minor] = /^v?(\d+)\.(\d+)\./.exec(text) ?? [];
    if (major === undefined || minor === undefined)
      throw new KubectlError(`server version error: could not parse ${JSON.stringify(text)} as version`);
    return { major: Number(major), minor: Number(minor) };
  }) as [{ major: number; minor: number }, { major: number; minor: number }];
  if (ours.major === theirs.major && Math.abs(ours.minor - theirs.minor) <= supportedSkew) return undefined;
  return `version difference between client (${ours.major}.${ours.minor}) and server (${theirs.major}.${theirs.minor}) exceeds the supported minor version skew of +/-${supportedSkew}`;
}
