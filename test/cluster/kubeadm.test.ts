// A control plane by the command lines of kubeadm's static pods for v1.36, with RSA keys as kubeadm makes them, on a real etcd.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "#base/clock.ts";
import { kubeadmCommands } from "#cluster/commands/testing/kubeadm-commands.ts";
import { type EtcdCluster, noTls, startEtcd } from "#store/testing/etcd.ts";
import { findKubectls } from "../apiserver/kubectls.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const kubectl = findKubectls().at(-1)?.path;
const skip = kubectl === undefined ? "there is no kubectl" : noTls;
const { signal } = new AbortController();

const openssl = (...args: readonly string[]): string =>
  execFileSync("openssl", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });

/** The files that kubeadm leaves on a machine of the control plane, as far as its command lines name them. */
class KubeadmFolder {
  readonly path = mkdtempSync(join(tmpdir(), "knarr-kubeadm-"));

  constructor({ certificate }: EtcdCluster) {
    mkdirSync(join(this.path, "pki/etcd"), { recursive: true });
    writeFileSync(this.pki("etcd/ca.crt"), certificate?.ca ?? "");
    writeFileSync(this.pki("apiserver-etcd-client.crt"), certificate?.cert ?? "");
    writeFileSync(this.pki("apiserver-etcd-client.key"), certificate?.key ?? "");
    this.#authority("ca", "kubernetes");
    this.#authority("front-proxy-ca", "front-proxy-ca");
    this.#issue("apiserver", "/CN=kube-apiserver", "subjectAltName=IP:127.0.0.1,DNS:kubernetes");
    const client = "extendedKeyUsage=clientAuth";
    this.#issue("apiserver-kubelet-client", "/O=kubeadm:cluster-admins/CN=kube-apiserver-kubelet-client", client);
    this.#issue("front-proxy-client", "/CN=front-proxy-client", client, "front-proxy-ca");
    openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", this.pki("sa.key"));
    openssl("pkey", "-in", this.pki("sa.key"), "-pubout", "-out", this.pki("sa.pub"));
    this.#issue("super-admin", "/O=system:masters/CN=kubernetes-super-admin", client);
    this.#issue("controller-manager", "/CN=system:kube-controller-manager", client);
    this.#issue("scheduler", "/CN=system:kube-scheduler", client);
  }

  pki(name: string): string {
    return join(this.path, "pki", name);
  }

  /** Answers where it is. */
  writeKubeconfig(user: "super-admin" | "controller-manager" | "scheduler" | "jane", port: number): string {
    const data = (name: string) => readFileSync(this.pki(name)).toString("base64");
    const cluster = { server: `https://127.0.0.1:${port}`, "certificate-authority-data": data("ca.crt") };
    const config = {
      clusters: [{ name: "a", cluster }],
      users: [
        { name: "a", user: { "client-certificate-data": data(`${user}.crt`), "client-key-data": data(`${user}.key`) } },
      ],
      contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
      "current-context": "a",
    };
    const path = join(this.path, `${user}.conf`);
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  }

  #authority(name: string, commonName: string): void {
    this.#make(name, `/CN=${commonName}`, "keyUsage=critical,digitalSignature,keyCertSign");
  }

  #issue(name: string, subject: string, extension: string, authority = "ca"): void {
    const signer = ["-CA", this.pki(`${authority}.crt`), "-CAkey", this.pki(`${authority}.key`)];
    this.#make(name, subject, extension, ...signer, "-addext", "basicConstraints=critical,CA:FALSE");
  }

  #make(name: string, subject: string, extension: string, ...more: readonly string[]): void {
    const files = ["-keyout", this.pki(`${name}.key`), "-out", this.pki(`${name}.crt`)];
    const key = ["-newkey", "rsa:2048", "-nodes", "-days", "1"];
    openssl("req", "-x509", ...key, ...files, "-subj", subject, "-addext", extension, ...more);
  }
}

/** Starts a part, and resolves with what the first line says that matches. It ends with the stack. */
async function start(
  stack: AsyncDisposableStack,
  command: string,
  args: readonly string[],
  line: RegExp,
): Promise<RegExpExecArray> {
  const child = spawn(process.execPath, [join(root, "src/main.ts"), command, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compile") },
  });
  const killAtExit = () => child.kill("SIGKILL");
  process.once("exit", killAtExit);
  const ended = once(child, "exit");
  stack.defer(async () => {
    child.kill("SIGTERM");
    await ended;
    process.off("exit", killAtExit);
  });
  const seen: string[] = [];
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stderr })
      .on("line", (said) => {
        seen.push(said);
        const found = line.exec(said);
        if (found) resolve(found);
      })
      .once("close", () => reject(new Error(`${command} ended:\n${seen.join("\n")}`)));
  });
}

test("the command lines of kubeadm's static pods make a control plane, on authorities with RSA keys", {
  skip,
}, async () => {
  await using stack = new AsyncDisposableStack();
  const etcd = await startEtcd({ tls: true });
  stack.defer(() => etcd.stop());
  const folder = new KubeadmFolder(etcd);
  stack.defer(() => rmSync(folder.path, { recursive: true, force: true }));
  const commands = kubeadmCommands(folder.path, etcd.endpoints.join(","));
  // Only ports and addresses differ: several may run on this machine.
  const own = ["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=0"];
  const serving = /"message":"serving","port":(\d+)/;
  const [, port = ""] = await start(stack, "apiserver", [...commands["kube-apiserver"], ...own], serving);
  for (const name of ["controller-manager", "scheduler"] as const) folder.writeKubeconfig(name, Number(port));
  const leading = /"became leader"/;
  await Promise.all([
    start(stack, "controller-manager", [...commands["kube-controller-manager"], "--secure-port=0"], leading),
    start(stack, "scheduler", [...commands["kube-scheduler"], "--secure-port=0"], leading),
  ]);

  const admin = folder.writeKubeconfig("super-admin", Number(port));
  const run = async (args: readonly string[], input = "", config = admin): Promise<string> => {
    const child = spawn(kubectl ?? "", args, { env: { KUBECONFIG: config, HOME: folder.path } });
    child.stdin.end(input);
    const [said, failed, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    assert.equal(code, 0, failed);
    return said;
  };
  const until = async (args: readonly string[], wanted: RegExp): Promise<string> => {
    for (;;) {
      const said = await run(args);
      if (wanted.test(said)) return said;
      await systemClock.sleep(100, signal);
    }
  };
  await run(["apply", "-f", "-"], "{apiVersion: v1, kind: Node, metadata: {name: one}}");
  await until(["get", "node", "one", "-o", "jsonpath={.spec.podCIDR}"], /^10\.244\.0\.0\/24$/);
  await run(["create", "deployment", "web", "--image=web"]);
  const reason = "jsonpath={.items[*].status.conditions[?(@.type=='PodScheduled')].reason}";
  await until(["get", "pods", "-l", "app=web", "-o", reason], /^Unschedulable$/);

  const request = folder.pki("jane.csr");
  const key = ["-newkey", "rsa:2048", "-nodes", "-keyout", folder.pki("jane.key")];
  openssl("req", "-new", ...key, "-out", request, "-subj", "/O=dev/CN=jane");
  const spec = {
    request: readFileSync(request).toString("base64"),
    signerName: "kubernetes.io/kube-apiserver-client",
    usages: ["client auth"],
  };
  const metadata = { name: "jane" };
  const api = { apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest" };
  await run(["create", "-f", "-"], JSON.stringify({ ...api, metadata, spec }));
  await run(["certificate", "approve", "jane"]);
  const signed = await until(["get", "csr", "jane", "-o", "jsonpath={.status.certificate}"], /./);
  writeFileSync(folder.pki("jane.crt"), Buffer.from(signed, "base64"));
  openssl("verify", "-CAfile", folder.pki("ca.crt"), folder.pki("jane.crt"));
  const jane = folder.writeKubeconfig("jane", Number(port));
  assert.match(await run(["auth", "whoami"], "", jane), /Username +jane\nGroups +\[dev system:authenticated\]/);
});
