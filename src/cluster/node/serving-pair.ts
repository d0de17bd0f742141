// The certificate that a kubelet serves with: the one of its flags, one that the API server has signed, or one of its own that nobody can check.
// Upstream: cmd/kubelet/app/server.go (initializeServerTLS) and pkg/kubelet/certificate/kubelet.go.
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import type { Component } from "#base/supervise.ts";
import { asCertificates, asPrivateKey, flagFile } from "#cli/host/flag-file.ts";
import type { Client } from "#client/client.ts";
import { signers } from "#controllers/certificates/signer-names.ts";
import { Certificates, type KeyPair } from "../certificates.ts";
import * as identities from "../identities.ts";
import { requestCertificate } from "./request-certificate.ts";
import { certificateRotation } from "./rotation.ts";
import { StoredPair } from "./stored-pair.ts";

export interface ServingPairOptions {
  readonly node: string;
  readonly addresses: readonly string[];
  /** Where certificates are kept. */
  readonly folder: string;
  readonly files: { readonly cert: string; readonly key: string } | undefined;
  /** Whether the API server is asked for one. */
  readonly isRequested: boolean;
  /** Acts as the node. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface ServingPair {
  /** The present one. */
  readonly read: () => KeyPair;
  /** Where it is, if it comes by and by. */
  readonly files: readonly string[];
  /** What has it renewed. */
  readonly components: readonly Component[];
}

export function servingPair(options: ServingPairOptions): ServingPair {
  const { node, addresses, folder, files, isRequested, client, clock, random, log } = options;
  if (files)
    return {
      read: () => ({
        cert: flagFile("tls-cert-file", files.cert, asCertificates),
        key: flagFile("tls-private-key-file", files.key, asPrivateKey),
      }),
      files: [files.cert, files.key],
      components: [],
    };
  const hosts = [...new Set([node, ...addresses])];
  const own = () =>
    new Certificates(join(folder, "self-signed"), clock, `${node}-ca`).issue("kubelet", { commonName: node, hosts });
  if (!isRequested) return { read: own, files: [], components: [] };
  const stored = new StoredPair(folder, "kubelet-server", clock);
  const wanted = {
    ...identities.node(node),
    hosts,
    signerName: signers.kubeletServing,
    usages: ["digital signature", "server auth"],
  } as const;
  const rotation = certificateRotation({
    what: "serving certificate",
    current: () => stored.read(),
    request: (signal) => requestCertificate(wanted, { client, clock }, signal),
    store: (pair) => stored.write(pair),
    clock,
    random,
    log,
  });
  return { read: () => stored.read() ?? own(), files: [stored.path], components: [rotation] };
}
