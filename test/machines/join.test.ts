// Four machines: a cluster on one, which the others join. The network between them carries packets of 1280 bytes at most.
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeKey, requestFor } from "#cluster/certificate-maker.ts";
import { clientCertificate } from "#cluster/node/bootstrap.ts";
import { impossible, Machines, type TestMachine } from "./machines.ts";
import { Tour, until } from "./tour.ts";

test("machines join by one printed line, their pods reach each other by their own addresses, and what is wrong is said plainly", {
  skip: impossible,
}, async () => {
  await using machines = new Machines("r", { mtu: 1280 });
  const tour = await Tour.up(machines);
  const [second, third] = [await machines.add("second", 2), await machines.add("third", 3)];
  const twin = await machines.add("twin", 4);
  const invitation = await tour.invitation();

  const wrong = (pattern: RegExp, word: string) => invitation.map((one) => (pattern.test(one) ? word : one));
  const [hash, secret] = await Promise.all([
    second.knarr(...wrong(/^sha256:/, `sha256:${"0".repeat(64)}`)),
    third.knarr(...wrong(/^[a-z0-9]{6}\.[a-z0-9]{16}$/, `${invitation[3]?.slice(0, 6)}.${"x".repeat(16)}`)),
  ]);
  assert.match(hash.said, /the authority of the cluster at 10\.77\.0\.1:6443 is not the one that --ca-hash names/);
  assert.match(secret.said, /the token is wrong: its first part is known at 10\.77\.0\.1:6443, its second is another/);
  assert.deepEqual([hash.code, secret.code], [1, 1]);

  for (let tries = 0; tries < 3; tries++) {
    await second.cutOff(invitation, 300 + Math.random() * 2500);
    if (await second.hasJoined()) await second.does("leave", tour.name); // it was faster
  }
  await second.does(...invitation, "--node-labels=disk=ssd", "--register-with-taints=slow=yes:PreferNoSchedule");
  const stolen = await third.knarr(...invitation, "--node-name=second");
  assert.match(stolen.said, /there is a node "second" in the cluster already, and it is alive/);
  await joinOfTwins(invitation, third, twin);
  assert.match(await tour.kubectl("get", "node", "second", "--show-labels"), /disk=ssd/);
  assert.match(await tour.kubectl("get", "node", "second", "-o", "jsonpath={.spec.taints}"), /PreferNoSchedule/);

  const addresses = await tour.pages(["node-1", "second", "third"]);
  await tour.checkPages(addresses);
  await tour.checkLargeFiles(addresses);
  assert.equal(await tour.mtuIn("second"), "1280");
  await nodeSpeaksForItselfAlone(tour, second, { cluster: machines.cluster, token: invitation[3] ?? "" });

  const anna = await tour.first.does("kubeconfig", "--user=anna", "--group=developers", "--expires=1h", tour.name);
  const asAnna = await tour.first.run(
    ["sh", "-c", "cat > /run/anna && kubectl --kubeconfig=/run/anna auth whoami"],
    anna,
  );
  assert.match(asAnna.said, /anna\s/);
  assert.match(asAnna.said, /developers/);

  assert.match(await tour.first.does("node", "cordon", "third", tour.name), /node\/third cordoned/);
  const left = await second.does("leave", tour.name);
  assert.match(left, /This machine is no longer node second/);
  await until(
    "the end of the node",
    async () => !(await tour.kubectl("get", "nodes", "-o", "name")).includes("node/second"),
  );
  assert.equal(await second.leftovers(), "");
});

/** Two machines of one name join at the same moment: one of them is the node, the other is told, and nothing is left on it. */
async function joinOfTwins(invitation: readonly string[], ...twins: readonly TestMachine[]): Promise<void> {
  const results = await Promise.all(twins.map((machine) => machine.knarr(...invitation, "--node-name=third")));
  assert.deepEqual(results.map(({ code }) => code).toSorted(), [0, 1], results.map(({ said }) => said).join("\n"));
  const loser = results.findIndex(({ code }) => code === 1);
  assert.match(results[loser]?.said ?? "", /there is a node "third" in the cluster already, and it is alive/);
  assert.equal(await twins[loser]?.leftovers(), "");
}

interface Stolen {
  readonly cluster: string;
  readonly token: string;
}

/** A machine that has joined cannot speak for another, nor become it. */
async function nodeSpeaksForItselfAlone(tour: Tour, second: TestMachine, { cluster, token }: Stolen): Promise<void> {
  const uid = () => tour.kubectl("get", "node", "third", "-o", "jsonpath={.metadata.uid}");
  const before = await uid();
  const secret = (name: string) => ({ apiVersion: "v1", kind: "Secret", metadata: { name, namespace: "default" } });
  const reader = (node: string) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `reader-${node}`, namespace: "default" },
    spec: {
      nodeName: node,
      containers: [{ name: "c", image: "knarr.local/nginx:1.0", envFrom: [{ secretRef: { name: `of-${node}` } }] }],
    },
  });
  await tour.apply(secret("of-second"), secret("of-third"), reader("second"), reader("third"));

  const kubeconfig = `--kubeconfig=/var/lib/knarr/${cluster}/kubelet.conf`;
  const asSecond = (...args: readonly string[]) => second.run(["kubectl", kubeconfig, ...args]);
  assert.equal((await asSecond("get", "secret", "of-second")).code, 0, "what its own pod refers to");
  const page = await tour.kubectl("get", "pod", "page-third", "-o", "json");
  const status = "/api/v1/namespaces/default/pods/page-third/status";
  const lied = await second.run(["kubectl", kubeconfig, "replace", `--raw=${status}`, "-f", "-"], page);
  assert.match(lied.said, /can only update pod status for pods with spec.nodeName set to itself/);
  for (const [args, why] of [
    [["label", "node", "third", "mine=yes"], /node .second. cannot read .third., only its own Node object/],
    [["get", "secrets", "-A"], /forbidden/i],
    [["get", "secret", "of-third"], /no relationship found between node .second. and this object/],
    [["delete", "pod", "page-third"], /forbidden.*itself/i],
    [["patch", "node", "third", "--subresource=status", "--patch={}"], /forbidden/i],
    [["annotate", "-n", "kube-node-lease", "lease", "third", "mine=yes"], /forbidden.*node/i],
  ] as const) {
    const { code, said } = await asSecond(...args);
    assert.match(said, why, args.join(" "));
    assert.equal(code, 1);
  }

  const order = clientCertificate("third");
  const csr = (name: string) =>
    JSON.stringify({
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name },
      spec: {
        request: Buffer.from(requestFor(makeKey(), order)).toString("base64"),
        signerName: order.signerName,
        usages: order.usages,
      },
    });
  const byNode = await second.run(["kubectl", kubeconfig, "create", "-f", "-"], csr("by-node"));
  assert.match(byNode.said, /forbidden: can only create a node CSR with CN=system:node:second/);
  const server = ["--server=https://10.77.0.1:6443", "--insecure-skip-tls-verify", `--token=${token}`];
  const byToken = await second.run(["kubectl", ...server, "create", "--validate=false", "-f", "-"], csr("by-token"));
  assert.equal(byToken.code, 0, byToken.said);
  const conditions = (name: string) => tour.kubectl("get", "csr", name, "-o", "jsonpath={.status}");
  assert.match(
    await until("a decision on the request", async () => (await conditions("by-token")).replace(/^\{\}$/, "")),
    /there is a node \\"third\\" in the cluster already, and it is alive.*Denied/,
  );
  assert.equal(await uid(), before);
}
