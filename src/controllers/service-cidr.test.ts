import assert from "node:assert/strict";
import { test } from "node:test";
import { IPAddress } from "#api/networking/v1/ip-address.ts";
import { ServiceCIDR } from "#api/networking/v1/service-cidr.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { timeOf } from "#schema/time.ts";
import { serviceCidrController } from "./service-cidr.ts";

const finalizer = "networking.k8s.io/service-cidr-finalizer";

const have = (w: ClientWorld, name: string, cidrs: string[], isLeaving = false) =>
  w.have(ServiceCIDR, {
    metadata: { name, ...(isLeaving && { deletionTimestamp: timeOf(w.clock.now()), finalizers: [finalizer] }) },
    spec: { cidrs },
  });
const use = (w: ClientWorld, name: string, labels: Record<string, string>) =>
  w.have(IPAddress, {
    metadata: { name, labels },
    spec: { parentRef: { resource: "services", namespace: "default", name: "web" } },
  });
const ours = { "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io" };
const now = (w: ClientWorld, name: string) => w.get(ServiceCIDR, { name });
const reconcile = (w: ClientWorld, name: string) => w.reconcile(serviceCidrController, now(w, name)!);
const ready = (w: ClientWorld, name: string) => {
  const found = now(w, name)?.status.conditions?.find(({ type }) => type === "Ready");
  return found && [found.status, found.reason ?? "", found.message];
};

test("a range for services gets a finalizer, and is ready; once", async () => {
  const w = world();
  have(w, "kubernetes", ["10.96.0.0/16"]);
  await reconcile(w, "kubernetes");
  assert.deepEqual(now(w, "kubernetes")?.metadata.finalizers, [finalizer]);
  assert.deepEqual(ready(w, "kubernetes"), ["True", "", "Kubernetes Service CIDR is ready"]);
  w.writes();
  await reconcile(w, "kubernetes");
  assert.deepEqual(w.writes(), []);
});

test("a range that is deleted stays while an address is in use that no other range has", async () => {
  const w = world();
  have(w, "kubernetes", ["10.96.0.0/16"]);
  have(w, "more", ["10.7.0.0/24"], true);
  use(w, "10.7.0.9", ours);
  await w.clock.advance(60_000);
  await reconcile(w, "more");
  assert.deepEqual(ready(w, "more"), [
    "False",
    "Terminating",
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
  ]);
  assert.deepEqual(now(w, "more")?.metadata.finalizers, [finalizer]);
  have(w, "larger", ["10.7.0.0/16"]);
  await reconcile(w, "more");
  assert.equal(now(w, "more")?.metadata.finalizers?.length ?? 0, 0, "another has the address by now");
});

test("a range that nobody uses goes, but not before every server has seen that it is to", async () => {
  const w = world();
  have(w, "kubernetes", ["10.96.0.0/16"]);
  have(w, "more", ["10.7.0.0/24"], true);
  use(w, "10.7.0.9", {});
  use(w, "10.96.0.1", ours);
  assert.deepEqual(await reconcile(w, "more"), { afterMs: 10_000 });
  assert.deepEqual(now(w, "more")?.metadata.finalizers, [finalizer]);
  await w.clock.advance(10_000);
  await reconcile(w, "more");
  assert.equal(now(w, "more")?.metadata.finalizers?.length ?? 0, 0);
});
