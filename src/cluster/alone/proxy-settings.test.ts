import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseFlags } from "#cli/flags.ts";
import { proxyFlags, proxySettings, withConfiguration } from "./proxy-settings.ts";

const flagsOf = (...args: readonly string[]) => parseFlags(proxyFlags, args).flags;
const settingsOf = (...args: readonly string[]) => proxySettings(withConfiguration(flagsOf(...args), flagsOf()), 4);

function withFile<T>(text: string, use: (path: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "knarr-proxy-"));
  try {
    const path = join(folder, "config.yaml");
    writeFileSync(path, text);
    return use(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** As kubeadm writes it. */
const usual = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection:
  acceptContentTypes: ""
  burst: 0
  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf
  qps: 0
clusterCIDR: 10.244.0.0/16,fd00:244::/56
configSyncPeriod: 0s
conntrack: { maxPerCore: null, min: null, tcpBeLiberal: false, tcpEstablishedTimeout: 2h0m0s, udpTimeout: 0s }
detectLocal: { bridgeInterface: "", interfaceNamePrefix: "" }
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: ""
hostnameOverride: ""
iptables: { localhostNodePorts: null, masqueradeAll: false, masqueradeBit: 10, minSyncPeriod: 0s, syncPeriod: 0s }
ipvs: { excludeCIDRs: [10.1.0.0/16], scheduler: lc, strictARP: true, syncPeriod: 0s, tcpFinTimeout: 0s, tcpTimeout: 15m0s }
logging: { flushFrequency: 0, options: { json: { infoBufferSize: "0" } }, verbosity: 0 }
metricsBindAddress: 0.0.0.0:10249
mode: nftables
nodePortAddresses: [192.168.0.0/16]
oomScoreAdj: null
portRange: ""
winkernel: { enableDSR: false, networkName: "" }
`;

test("a proxy takes a KubeProxyConfiguration instead of flags, but for its name", () => {
  withFile(usual, (path) => {
    const settings = settingsOf(`--config=${path}`, "--hostname-override=Node-1", "--proxy-mode=iptables");
    assert.deepEqual(settings, {
      kubeconfig: "/var/lib/kube-proxy/kubeconfig.conf",
      node: "node-1",
      mode: "nftables",
      podRanges: ["10.244.0.0/16", "fd00:244::/56"],
      podRangesOfNode: false,
      masqueradeAll: false,
      markBit: 1024,
      localhostNodePorts: true,
      nodePortRanges: ["192.168.0.0/16"],
      ipvs: {
        scheduler: "lc",
        excludeRanges: ["10.1.0.0/16"],
        strictArp: true,
        tcpSeconds: 900,
        tcpFinSeconds: 0,
        udpSeconds: 0,
      },
      nodeAddresses: [],
      healthz: { host: "0.0.0.0", port: 10_256 },
      metrics: { host: "0.0.0.0", port: 10_249 },
      kernel: [["net/netfilter/nf_conntrack_tcp_timeout_established", 7200]],
      isVerbose: false,
    });
  });
});

test("a proxy's flags have upstream's defaults", () => {
  const settings = settingsOf("--hostname-override=n1", "--conntrack-max-per-core=1000", "--conntrack-min=9000");
  assert.equal(settings.mode, "iptables");
  assert.equal(settings.markBit, 0x4000);
  assert.deepEqual(settings.metrics, { host: "127.0.0.1", port: 10_249 });
  assert.deepEqual(settings.kernel, [["net/netfilter/nf_conntrack_max", 9000]]);
  assert.equal(settingsOf("--healthz-bind-address=").healthz, undefined);
});

const refusals: readonly (readonly [readonly string[], RegExp])[] = [
  [["--proxy-mode=kernelspace"], /--proxy-mode: proxy mode "kernelspace" is unknown; there are nftables, iptables/],
  [["--proxy-mode=ipvs", "--ipvs-scheduler=dice"], /--ipvs-scheduler: rr, wrr, .*, not "dice"/],
  [["--ipvs-exclude-cidrs=10.0.0.1"], /--ipvs-exclude-cidrs: "10.0.0.1" is not a network/],
  [["--cluster-cidr=10.244.0.0"], /--cluster-cidr: "10.244.0.0" is not a network/],
  [["--detect-local-mode=BridgeInterface"], /--detect-local-mode: ClusterCIDR or NodeCIDR/],
  [["--iptables-masquerade-bit=32"], /--iptables-masquerade-bit: a number from 0 to 31, not 32/],
  [["--metrics-bind-address=10249"], /--metrics-bind-address: "10249" is not an address and a port/],
  [["--config=/no/such/file"], /--config \/no\/such\/file cannot be read/],
];
for (const [args, message] of refusals)
  test(`a proxy refuses ${args.join(" ")}`, () => assert.throws(() => settingsOf(...args), message));

test("a proxy says which field of its configuration is wrong", () => {
  const head = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";
  const read = (text: string) => withFile(text, (path) => settingsOf(`--config=${path}`));
  assert.throws(
    () => read(`${head}iptables: { masqueradeBit: many }\n`),
    /iptables.masqueradeBit: expected int, got "many"/,
  );
  assert.throws(() => read(`${head}moode: iptables\n`), /unknown field "moode"/);
  assert.throws(() => read("kind: Pod\n"), /expected kind KubeProxyConfiguration/);
});
