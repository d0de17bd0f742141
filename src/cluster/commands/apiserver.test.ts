import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { Certificates } from "../certificates.ts";
import { apiserver } from "./apiserver.ts";

const folder = mkdtempSync(join(tmpdir(), "apiserver-flags-"));
after(() => rmSync(folder, { recursive: true }));
const nonsense = join(folder, "nonsense");
writeFileSync(nonsense, "no,file\nof any kind");
const missing = join(folder, "missing");
const inMemory = ["--store=memory", `--cert-dir=${join(folder, "pki")}`, "--secure-port=0", "--bind-address=127.0.0.1"];

const certificates = new Certificates(folder, systemClock);
const [server, other] = ["server", "other"].map((name) => {
  certificates.issue(name, { commonName: name, hosts: ["127.0.0.1"] });
  return join(folder, name);
});

/** What a person did wrong is told in a sentence that names the flag; so is a file that cannot be used. */
const wrong: readonly (readonly [flags: readonly string[], told: RegExp])[] = [
  [["--secure-port=99999"], /^--secure-port: 99999 is no port$/],
  [["--secure-port=https"], /^--secure-port is a whole number, not "https"$/],
  [["--secure-prt=1"], /^unknown flag --secure-prt; did you mean --secure-port\?$/],
  [["serve"], /^apiserver takes no arguments, got "serve"$/],
  [["--store=tape"], /^--store is embedded or memory, not "tape"$/],
  [["--store=embedded"], /^--data-dir says where the embedded store lives/],
  [["--store=memory"], /^--tls-cert-file and --tls-private-key-file, or --cert-dir/],
  [[...inMemory, "--tls-cert-file=a"], /^--tls-cert-file and --tls-private-key-file go together$/],
  [[...inMemory, "--tls-min-version=VersionTLS11"], /^--tls-min-version: "VersionTLS11" is not spoken/],
  [[...inMemory, "--tls-cipher-suites=TLS_ROT13"], /^--tls-cipher-suites: Cipher suite TLS_ROT13 not supported/],
  [[...inMemory, "--goaway-chance=0.03"], /^--goaway-chance can not be less than 0 or greater than 0\.02$/],
  [[...inMemory, "--goaway-chance=often"], /^--goaway-chance can not be/],
  [
    [...inMemory, "--http2-max-streams-per-connection=-1"],
    /^--http2-max-streams-per-connection: -1 is less than none$/,
  ],
  [[...inMemory, "--event-ttl=0s"], /^--event-ttl: "0s" is not a time such as/],
  [[...inMemory, "--shutdown-delay-duration=soon"], /^--shutdown-delay-duration: "soon" is not a time such as/],
  [[...inMemory, "--authorization-mode=Anyone"], /^--authorization-mode: "Anyone" is not known; use Node, RBAC/],
  [[...inMemory, "--service-cluster-ip-range=1.2.3.4"], /1\.2\.3\.4/],
  [[...inMemory, "--service-node-port-range=9-1"], /9-1/],
  [[...inMemory, "--advertise-address=::1"], /^--advertise-address: "::1" is not an IPv4 address/],
  [[...inMemory, "--enable-admission-plugins=Doorman"], /Doorman/],
  [[...inMemory, "--etcd-servers=nowhere"], /nowhere/],
  [
    [...inMemory, "--etcd-servers=https://127.0.0.1:1", `--etcd-certfile=${nonsense}`],
    /^--etcd-certfile and --etcd-keyfile/,
  ],
  [[...inMemory, `--token-auth-file=${missing}`], /^--token-auth-file: ENOENT.*missing'$/],
  [[...inMemory, `--token-auth-file=${nonsense}`], /^--token-auth-file: line 1: expected token,user,uid/],
  [[...inMemory, `--client-ca-file=${missing}`], /^--client-ca-file: ENOENT.*missing'$/],
  [[...inMemory, `--client-ca-file=${nonsense}`], /^--client-ca-file: the file holds no certificate$/],
  [
    [...inMemory, `--tls-cert-file=${nonsense}`, `--tls-private-key-file=${nonsense}`],
    /^--tls-cert-file: the file holds/,
  ],
  [
    [...inMemory, `--tls-cert-file=${server}.crt`, `--tls-private-key-file=${other}.key`],
    /^--tls-private-key-file: .*other.key is not the key of the certificate in .*server.crt$/,
  ],
  [[...inMemory, `--service-account-key-file=${missing}`], /^--service-account-key-file: ENOENT/],
  [[...inMemory, `--service-account-signing-key-file=${nonsense}`], /^--service-account-signing-key-file: /],
  [
    [...inMemory, `--service-account-key-file=${missing}`, "--service-account-signing-endpoint=/run/s.sock"],
    /^--service-account-key-file and --service-account-signing-endpoint cannot be given together$/,
  ],
  [
    [...inMemory, "--service-account-signing-endpoint=s.sock"],
    /^--service-account-signing-endpoint: "s.sock" is no absolute path$/,
  ],
  [[...inMemory, "--ir-percentile=0"], /^--ir-percentile: must be a number from 1 to 100, not 0$/],
  [[...inMemory, `--kubelet-certificate-authority=${missing}`], /^--kubelet-certificate-authority: ENOENT/],
];

for (const [flags, told] of wrong)
  test(`knarr apiserver ${flags.at(-1)?.replace(folder, "")} is refused by name`, async () => {
    await assert.rejects(apiserver.run([...flags]), (error) => told.test(explain(error)));
  });
