// Certificates of a running cluster: people and nodes ask for them with an unmodified kubectl, and its own are renewed.
import assert from "node:assert/strict";
import { generateKeyPairSync, sign, X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "node:tls";
import { csrOf, ecdsaWithSha256 } from "#api/certificates/v1/testing.ts";
import { systemClock } from "#base/clock.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { Machine } from "./machine.ts";

const kubectl = findKubectls().at(-1)?.path;
const skip = kubectl === undefined ? "there is no kubectl" : false;
const { signal } = new AbortController();

/** A kubeconfig user with a key of its own, and requests for certificates of that key. */
class Holder {
  readonly #machine: Machine;
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly #subject: Readonly<Record<string, readonly string[]>>;

  constructor(machine: Machine, subject: Readonly<Record<string, readonly string[]>>) {
    this.#machine = machine;
    this.#subject = subject;
  }

  async asks(name: string, signer: string, usages: readonly string[], ...flags: readonly string[]): Promise<void> {
    const { publicKey, privateKey } = this.#keys;
    const signing = {
      publicKey,
      algorithm: ecdsaWithSha256,
      sign: (info: Uint8Array) => sign("sha256", info, privateKey),
    };
    const spec = { signerName: signer, usages, request: csrOf(this.#subject, signing), expirationSeconds: 3600 };
    const file = join(this.#machine.home, `${name}.json`);
    const head = { apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", metadata: { name } };
    writeFileSync(file, JSON.stringify({ ...head, spec }));
    await this.#machine.kubectl("create", "-f", file, ...flags);
  }

  /** Resolves with the flags by which kubectl is the holder, once the request is signed. */
  async gets(name: string): Promise<{ certificate: X509Certificate; flags: readonly string[] }> {
    const look = () => this.#machine.kubectl("get", "csr", name, "-o=jsonpath={.status.certificate}");
    let text = await look();
    for (; text === ""; text = await look()) await systemClock.sleep(50, signal);
    const [cert, key] = [join(this.#machine.home, `${name}.crt`), join(this.#machine.home, `${name}.key`)];
    writeFileSync(cert, Buffer.from(text, "base64"));
    writeFileSync(key, this.#keys.privateKey.export({ type: "pkcs8", format: "pem" }));
    const config = JSON.parse(readFileSync(join(this.#machine.clusters, "knarr/pki/admin.kubeconfig"), "utf8"));
    config.users[0].user = { "client-certificate": cert, "client-key": key };
    const file = join(this.#machine.home, `${name}.kubeconfig`);
    writeFileSync(file, JSON.stringify(config));
    return { certificate: new X509Certificate(readFileSync(cert)), flags: [`--kubeconfig=${file}`] };
  }
}

/** Until when the certificate is good that a server shows. */
const shownUntil = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      resolve(new X509Certificate(socket.getPeerCertificate().raw).serialNumber);
      socket.destroy();
    });
  });

test("certificates are asked for, approved, signed, used and renewed while a cluster runs", { skip }, async () => {
  await using machine = new Machine(kubectl);
  await machine.ok("up", "--runtime=simulated", "--nodes=1", "--port=0");

  const jane = new Holder(machine, { O: ["dev"], CN: ["jane"] });
  await jane.asks("jane", "kubernetes.io/kube-apiserver-client", ["client auth"]);
  assert.match(await machine.kubectl("get", "csr", "jane"), /Pending/);
  await machine.kubectl("certificate", "approve", "jane");
  const { certificate, flags } = await jane.gets("jane");
  assert.equal(certificate.subject, "O=dev\nCN=jane");
  assert.match(
    await machine.kubectl("auth", "whoami", ...flags),
    /Username +jane\nGroups +\[dev system:authenticated\]/,
  );
  assert.match(await machine.kubectl("get", "csr", "jane"), /60m +Approved,Issued/);

  // As a kubelet joins: with the right of a bootstrap token first, then with its own.
  const roles = "system:certificates.k8s.io:certificatesigningrequests";
  await machine.kubectl("create", "clusterrolebinding", "join", `--clusterrole=${roles}:nodeclient`, "--group=joining");
  await machine.kubectl(
    "create",
    "clusterrolebinding",
    "ask",
    "--clusterrole=system:node-bootstrapper",
    "--group=joining",
  );
  await machine.kubectl(
    "create",
    "clusterrolebinding",
    "renew",
    `--clusterrole=${roles}:selfnodeclient`,
    "--group=system:nodes",
  );
  const node = new Holder(machine, { O: ["system:nodes"], CN: ["system:node:n7"] });
  const asNode = ["kubernetes.io/kube-apiserver-client-kubelet", ["digital signature", "client auth"]] as const;
  await node.asks("first", ...asNode, "--as=system:bootstrap:abcdef", "--as-group=joining");
  const first = await node.gets("first");
  await node.asks("second", ...asNode, ...first.flags);
  const second = await node.gets("second");
  assert.match(await machine.kubectl("auth", "whoami", ...second.flags), /Username +system:node:n7/);

  // One that no signer signs says why.
  await jane.asks("wrong", asNode[0], asNode[1]);
  await machine.kubectl("certificate", "approve", "wrong");
  await machine.kubectl("wait", "csr/wrong", "--for=condition=Failed", "--timeout=60s");
  const why = await machine.kubectl(
    "get",
    "csr",
    "wrong",
    '-o=jsonpath={.status.conditions[?(@.type=="Failed")].message}',
  );
  assert.equal(why, "subject organization is not system:nodes");

  // Its own.
  const status = await machine.ok("certs", "status");
  assert.match(status, /^NAME +SUBJECT +SIGNED BY +UNTIL +LEFT +STATE\nca +CN=knarr-ca +itself /);
  assert.match(status, /^apiserver +CN=kube-apiserver +CN=knarr-ca +\S+Z +36[45]d +good$/m);
  const { endpoint, pid } = JSON.parse(await machine.ok("status", "-o", "json")) as { endpoint: string; pid: number };
  const before = { shown: await shownUntil(endpoint), config: readFileSync(machine.kubeconfig, "utf8") };
  assert.match(await machine.ok("certs", "renew"), /^admin renewed\napiserver renewed\n/);
  while ((await shownUntil(endpoint)) === before.shown) await systemClock.sleep(50, signal);
  assert.notEqual(readFileSync(machine.kubeconfig, "utf8"), before.config);
  assert.match(await machine.kubectl("auth", "whoami"), /Username +kubernetes-admin/);
  assert.equal((JSON.parse(await machine.ok("status", "-o", "json")) as { pid: number }).pid, pid, "without a restart");

  const refused = await machine.knarr("certs", "renew", "ca");
  assert.deepEqual([refused.code, /ca is an authority/.test(refused.err)], [2, true]);
  assert.match((await machine.knarr("certs", "mend")).err, /unknown verb "mend"; there are status, renew/);
});
