import { existsSync } from "node:fs";
import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { aligned } from "#cli/aligned.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import { humanDuration } from "#schema/columns.ts";
import { CertificateFolder, type CertificateReport } from "../certificate-folder.ts";
import { renewalDays } from "../certificates.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { renewContext } from "../local/contexts.ts";

const flags = {
  ...placeFlags,
  "cert-dir": {
    type: "string",
    value: "FOLDER",
    help: "Folder of the certificates of an API server that stands alone, instead of a cluster's",
  },
  output: { type: "string", short: "o", value: "text|json", default: "text", help: "Form of the answer" },
} as const;

export const certs: Command = {
  use: "certs status|renew [NAME...] [FLAGS]",
  help: [
    "  knarr certs status",
    "      Says of each certificate whom it names, who signed it and until when it is good.",
    "",
    "  knarr certs renew [NAME...]",
    "      Makes certificates anew, for the keys that are there: all, or those that are named as status names them.",
    "      A cluster that runs shows the new ones at once; nothing has to be restarted.",
    "",
    `Certificates that end within ${renewalDays} days are renewed by the process that uses them, without being told to.`,
    "Authorities are good for ten years and are not renewed.",
    "",
    flagsHelp(flags),
  ].join("\n"),
  async run([verb, ...args]) {
    const { flags: asked, rest } = parseFlags(flags, args);
    if (!["text", "json"].includes(asked.output))
      throw new UsageError(`--output is text or json, not ${JSON.stringify(asked.output)}`);
    const isText = asked.output === "text";
    if (verb === "status") {
      if (rest.length > 0) throw new UsageError(`certs status takes no arguments, got ${JSON.stringify(rest[0])}`);
      const reports = folderOf(asked).reports();
      print(isText ? table(reports) : JSON.stringify(reports, undefined, 2));
    } else if (verb === "renew") {
      const renewed = folderOf(asked).renew(rest);
      print(isText ? renewed.map((name) => `${name} renewed`).join("\n") : JSON.stringify(renewed));
      // People's kubeconfig has a copy of the administrator's certificate.
      if (asked["cert-dir"] === undefined) await renewContext(new ClusterFolder(asked), new AbortController().signal);
    } else
      throw new UsageError(
        verb === undefined
          ? "certs: say what to do: status, renew"
          : `certs: unknown verb "${verb}"; there are status, renew`,
      );
  },
};

function folderOf(asked: {
  readonly name: string;
  readonly "data-dir": string | undefined;
  readonly "cert-dir": string | undefined;
}): CertificateFolder {
  const given = asked["cert-dir"];
  if (given !== undefined) {
    if (!existsSync(given)) throw new UsageError(`--cert-dir: there is no folder ${JSON.stringify(given)}`);
    return new CertificateFolder(given, systemClock);
  }
  const place = new ClusterFolder(asked);
  place.mustExist();
  return new CertificateFolder(place.certificates, systemClock);
}

function table(reports: readonly CertificateReport[]): string {
  if (reports.length === 0) return "there are no certificates yet";
  const rows = reports.map(({ name, subject, issuer, isAuthority, notAfter, secondsLeft, state }) => [
    name,
    subject,
    isAuthority ? "itself" : issuer,
    notAfter,
    secondsLeft > 0 ? humanDuration(secondsLeft * 1000) : "none",
    state,
  ]);
  return aligned([["NAME", "SUBJECT", "SIGNED BY", "UNTIL", "LEFT", "STATE"], ...rows]).join("\n");
}
