// Three machines: a cluster on one, which the others join.
import assert from "node:assert/strict";
import { test } from "node:test";
import { impossible, Machines } from "./machines.ts";
import { Tour, until } from "./tour.ts";

test("machines join by one printed line, their pods reach each other by their own addresses, and what is wrong is said plainly", {
  skip: impossible,
}, async () => {
  await using machines = new Machines("r");
  const tour = await Tour.up(machines);
  const [second, third] = [await machines.add("second", 2), await machines.add("third", 3)];
  const invitation = await tour.invitation();

  const wrong = (pattern: RegExp, word: string) => invitation.map((one) => (pattern.test(one) ? word : one));
  const [hash, secret] = await Promise.all([
    second.knarr(...wrong(/^sha256:/, `sha256:${"0".repeat(64)}`)),
    third.knarr(...wrong(/^[a-z0-9]{6}\.[a-z0-9]{16}$/, `${invitation[3]?.slice(0, 6)}.${"x".repeat(16)}`)),
  ]);
  assert.match(hash.said, /the authority of the cluster at 10\.77\.0\.1:6443 is not the one that --ca-hash names/);
  assert.match(secret.said, /the token is wrong: its first part is known at 10\.77\.0\.1:6443, its second is another/);
  assert.deepEqual([hash.code, secret.code], [1, 1]);

  await second.does(...invitation, "--node-labels=disk=ssd", "--register-with-taints=slow=yes:PreferNoSchedule");
  const stolen = await third.knarr(...invitation, "--node-name=second");
  assert.match(stolen.said, /there is a node "second" in the cluster already, and it is alive/);
  await third.does(...invitation);
  assert.match(await tour.kubectl("get", "node", "second", "--show-labels"), /disk=ssd/);
  assert.match(await tour.kubectl("get", "node", "second", "-o", "jsonpath={.spec.taints}"), /PreferNoSchedule/);

  // A machine that has joined cannot speak for another.
  const kubeconfig = `/var/lib/knarr/${machines.cluster}/kubelet.conf`;
  const asSecond = (...args: readonly string[]) => second.run(["kubectl", `--kubeconfig=${kubeconfig}`, ...args]);
  assert.match(
    (await asSecond("label", "node", "third", "mine=yes")).said,
    /node .second. cannot read .third., only its own Node object/,
  );
  assert.match((await asSecond("get", "secrets", "-A")).said, /forbidden/i);

  const addresses = await tour.pages(["node-1", "second", "third"]);
  await tour.checkPages(addresses);

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
  assert.equal(
    (await second.shell("ip route; nft list tables; ls -d /run/knarr /var/lib/knarr/* 2> /dev/null || true"))
      .replaceAll(/^10\.77.*$/gm, "")
      .trim(),
    "",
  );
});
