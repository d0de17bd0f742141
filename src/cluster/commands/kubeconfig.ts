import { existsSync, readFileSync } from "node:fs";
import { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";
import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { durationFlag } from "#cli/duration-flag.ts";
import { type FlagValues, flagsHelp, parseFlags } from "#cli/flags.ts";
import type { Client } from "#client/client.ts";
import { parseKubeconfig } from "#client/kubeconfig.ts";
import { signers } from "#controllers/certificates/signer-names.ts";
import { withConnection } from "../join/start-machine.ts";
import { kubeconfig as kubeconfigText } from "../kubeconfig.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { readSettings, storeOf } from "../local/settings.ts";
import { requestCertificate } from "../node/request-certificate.ts";

const flags = {
  ...placeFlags,
  user: { type: "string", value: "NAME", help: "Print one for this user, with a certificate that is made for it" },
  group: { type: "strings", value: "NAMES", help: "Groups of that user" },
  expires: {
    type: "string",
    value: "DURATION",
    default: "24h",
    help: "How long the certificate is good; at least 10m",
  },
} as const;

export const kubeconfig: Command = {
  use: "kubeconfig [FLAGS]",
  help: [
    "Prints a kubeconfig with the cluster alone: as its administrator, or for somebody else, who then has no rights but those that bindings",
    "give to the user or to the groups. A certificate cannot be taken back, so let it end soon. Of several API servers, one that answers is",
    "named.",
    "",
    flagsHelp(flags),
    "",
    "Examples:",
    "  knarr kubeconfig > admin.kubeconfig",
    "  knarr kubeconfig --user anna --group developers --expires 8h > anna.kubeconfig",
  ].join("\n"),
  async run(args) {
    const { flags: asked, rest } = parseFlags(flags, args);
    if (rest.length > 0) throw new UsageError(`kubeconfig takes no arguments; to name a cluster: --name=${rest[0]}`);
    const place = new ClusterFolder(asked);
    place.mustExist();
    if (!existsSync(place.adminKubeconfig))
      throw new Error(`cluster ${JSON.stringify(place.name)} has never been started; run "knarr up"`);
    const settings = readSettings(place);
    if (settings && storeOf(settings) === "etcd") {
      const { nameWorkingServer } = await import("../join/working-server.ts"); // with gRPC
      await nameWorkingServer(place);
    }
    if (asked.user === undefined && asked.group.length > 0) throw new UsageError("--group says groups of a --user");
    process.stdout.write(
      asked.user === undefined ? readFileSync(place.adminKubeconfig, "utf8") : await forUser(place, asked.user, asked),
    );
  },
};

async function forUser(
  place: ClusterFolder,
  user: string,
  { group, expires }: Pick<FlagValues<typeof flags>, "group" | "expires">,
): Promise<string> {
  const expirationSeconds = Math.floor(durationFlag("expires", expires) / 1000);
  if (expirationSeconds < 600) throw new UsageError(`--expires: at least 10m, not ${expires}`);
  if (user.startsWith("system:") || group.includes("system:masters"))
    throw new UsageError("names that begin with system: belong to parts of the cluster, and system:masters to nobody");
  const own = parseKubeconfig(readFileSync(place.adminKubeconfig, "utf8"), place.adminKubeconfig).clusters[0]?.cluster;
  const { signal } = new AbortController();
  const pair = await withConnection(place.adminKubeconfig, signal, async ({ client }) => {
    const approval = Promise.withResolvers<void>();
    const made = requestCertificate(
      {
        commonName: user,
        organizations: group,
        signerName: signers.apiClient,
        usages: ["digital signature", "client auth"],
        expirationSeconds,
      },
      { client, clock: systemClock, asked: (name) => approve(client, name).then(approval.resolve, approval.reject) },
      signal,
    );
    // Whoever cannot approve would wait for long.
    await Promise.race([made, approval.promise.then(() => made)]);
    return made;
  });
  const ca = Buffer.from(own?.["certificate-authority-data"] ?? "", "base64").toString();
  return kubeconfigText(place.context, own?.server ?? "", ca, pair);
}

async function approve(client: Client, name: string): Promise<void> {
  const csr = await client.get(CertificateSigningRequest, { name });
  const condition = { type: "Approved", status: "True", reason: "KnarrKubeconfig", message: "By knarr kubeconfig." };
  const conditions = [...(csr.status.conditions ?? []), condition];
  await client.update(CertificateSigningRequest, { ...csr, status: { ...csr.status, conditions } }, "approval");
}
