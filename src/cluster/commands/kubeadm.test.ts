// The command lines of kubeadm's static pods for v1.36, as it writes them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Flags, parseFlags } from "#cli/flags.ts";
import { apiserverFlags } from "../alone/apiserver-flags.ts";
import { warnOfIneffective } from "../ineffective-flags.ts";
import { apiserver } from "./apiserver.ts";
import { controllerManagerCommand, controllerManagerFlags } from "./controller-manager.ts";
import { schedulerCommand, schedulerFlags } from "./scheduler.ts";

const pki = "/etc/kubernetes/pki";

const manifests: Readonly<Record<string, { flags: Flags; help: string | undefined; args: readonly string[] }>> = {
  "kube-apiserver": {
    flags: apiserverFlags,
    help: apiserver.help,
    args: [
      "--advertise-address=10.0.0.2",
      "--allow-privileged=true",
      "--authorization-mode=Node,RBAC",
      `--client-ca-file=${pki}/ca.crt`,
      "--enable-admission-plugins=NodeRestriction",
      "--enable-bootstrap-token-auth=true",
      `--etcd-cafile=${pki}/etcd/ca.crt`,
      `--etcd-certfile=${pki}/apiserver-etcd-client.crt`,
      `--etcd-keyfile=${pki}/apiserver-etcd-client.key`,
      "--etcd-servers=https://127.0.0.1:2379",
      `--kubelet-client-certificate=${pki}/apiserver-kubelet-client.crt`,
      `--kubelet-client-key=${pki}/apiserver-kubelet-client.key`,
      "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
      `--proxy-client-cert-file=${pki}/front-proxy-client.crt`,
      `--proxy-client-key-file=${pki}/front-proxy-client.key`,
      "--requestheader-allowed-names=front-proxy-client",
      `--requestheader-client-ca-file=${pki}/front-proxy-ca.crt`,
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-username-headers=X-Remote-User",
      "--secure-port=6443",
      "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
      `--service-account-key-file=${pki}/sa.pub`,
      `--service-account-signing-key-file=${pki}/sa.key`,
      "--service-cluster-ip-range=10.96.0.0/12",
      `--tls-cert-file=${pki}/apiserver.crt`,
      `--tls-private-key-file=${pki}/apiserver.key`,
    ],
  },
  "kube-controller-manager": {
    flags: controllerManagerFlags,
    help: controllerManagerCommand.help,
    args: [
      "--allocate-node-cidrs=true",
      "--authentication-kubeconfig=/etc/kubernetes/controller-manager.conf",
      "--authorization-kubeconfig=/etc/kubernetes/controller-manager.conf",
      "--bind-address=127.0.0.1",
      `--client-ca-file=${pki}/ca.crt`,
      "--cluster-cidr=10.244.0.0/16",
      "--cluster-name=kubernetes",
      `--cluster-signing-cert-file=${pki}/ca.crt`,
      `--cluster-signing-key-file=${pki}/ca.key`,
      "--controllers=*,bootstrapsigner,tokencleaner",
      "--kubeconfig=/etc/kubernetes/controller-manager.conf",
      "--leader-elect=true",
      `--requestheader-client-ca-file=${pki}/front-proxy-ca.crt`,
      `--root-ca-file=${pki}/ca.crt`,
      `--service-account-private-key-file=${pki}/sa.key`,
      "--service-cluster-ip-range=10.96.0.0/12",
      "--use-service-account-credentials=true",
    ],
  },
  "kube-scheduler": {
    flags: schedulerFlags,
    help: schedulerCommand.help,
    args: [
      "--authentication-kubeconfig=/etc/kubernetes/scheduler.conf",
      "--authorization-kubeconfig=/etc/kubernetes/scheduler.conf",
      "--bind-address=127.0.0.1",
      "--kubeconfig=/etc/kubernetes/scheduler.conf",
      "--leader-elect=true",
    ],
  },
};

for (const [name, { flags, help, args }] of Object.entries(manifests))
  test(`the command of kubeadm's ${name} is taken as it is, and --help names each of its flags`, () => {
    const { rest } = parseFlags(flags, args);
    assert.deepEqual(rest, []);
    for (const arg of args) assert.ok(help?.includes(arg.split("=")[0] ?? ""), arg);
  });

test("a flag without effect is told with what it does not do, unless it asks for what is the case", () => {
  const said: unknown[] = [];
  const log = { warn: (_message: string, fields: { readonly flag: string }) => said.push(fields.flag) };
  const settings = parseFlags(apiserverFlags, [
    "--allow-privileged=false",
    "--profiling=false",
    "--watch-cache-sizes=pods#100",
    "--storage-backend=etcd3",
  ]).flags;
  warnOfIneffective(settings, log as never);
  assert.deepEqual(said, ["--allow-privileged", "--watch-cache-sizes"]);
});
