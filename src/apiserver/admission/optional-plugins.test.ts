import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";
import { CsrError, csrSubject } from "#api/certificates/v1/request.ts";
import { csrOf, csrWith } from "#api/certificates/v1/testing.ts";
import { Event } from "#api/core/v1/event.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { certificateApproval, certificateSigning, certificateSubjectRestriction } from "./certificates.ts";
import { eventRateLimit } from "./event-rate-limit.ts";
import { extendedResourceToleration } from "./extended-resource-toleration.ts";
import { ownerReferencesPermissionEnforcement } from "./owner-references-permission-enforcement.ts";
import { podNodeSelector } from "./pod-node-selector.ts";
import { podTolerationRestriction } from "./pod-toleration-restriction.ts";
import { AdmissionWorld, podWith } from "./testing.ts";

describe("certificates", () => {
  const signer = "kubernetes.io/kube-apiserver-client";
  const request = csrWith(signer, { CN: ["alice"], O: ["devs"] });
  const refusalOf = (why: string) => `certificatesigningrequests.certificates.k8s.io "r" is forbidden: ${why}`;

  test("are approved by those who may approve for the signer, or for its domain", async () => {
    const world = new AdmissionWorld();
    const asked: string[] = [];
    world.authorize = async (question) => {
      if (question.type === "resource") asked.push(`${question.verb} ${question.resource} ${question.name}`);
      return { decision: "none" };
    };
    const through = { old: request, subresource: "approval" };
    const { refusal } = await world.admit(certificateApproval, CertificateSigningRequest, request, through);
    assert.equal(refusal, refusalOf(`user not permitted to approve requests with signerName "${signer}"`));
    assert.deepEqual(asked, [`approve signers ${signer}`, "approve signers kubernetes.io/*"]);
    world.authorize = async (question) => ({
      decision: question.type === "resource" && question.name === "kubernetes.io/*" ? "allow" : "none",
    });
    assert.equal((await world.admit(certificateApproval, CertificateSigningRequest, request, through)).refusal, "");
  });

  test("are signed by those who may sign for the signer", async () => {
    const world = new AdmissionWorld();
    world.authorize = async () => ({ decision: "none" });
    const through = { old: request, subresource: "status" };
    const signed = { ...request, status: { certificate: "eA==" } };
    assert.equal((await world.admit(certificateSigning, CertificateSigningRequest, request, through)).refusal, "");
    assert.equal(
      (await world.admit(certificateSigning, CertificateSigningRequest, signed, through)).refusal,
      refusalOf(`user not permitted to sign requests with signerName "${signer}"`),
    );
  });

  test("of system:masters are not given out", async () => {
    const world = new AdmissionWorld();
    const masters = csrWith(signer, { O: ["devs", "system:masters"], CN: ["eve"] });
    assert.equal((await world.admit(certificateSubjectRestriction, CertificateSigningRequest, request)).refusal, "");
    assert.equal(
      (await world.admit(certificateSubjectRestriction, CertificateSigningRequest, masters)).refusal,
      refusalOf(`use of ${signer} signer with system:masters group is not allowed`),
    );
    const broken = { ...request, spec: { ...request.spec, request: btoa("nothing") } };
    assert.equal(
      (await world.admit(certificateSubjectRestriction, CertificateSigningRequest, broken)).refusal,
      refusalOf("failed to parse CSR: PEM block type must be CERTIFICATE REQUEST"),
    );
  });

  test("are read whatever they contain", () => {
    assert.deepEqual(csrSubject(csrOf({ O: ["a", "b"], CN: ["c"] })), {
      commonName: "c",
      organizations: ["a", "b"],
      uids: [],
    });
    const whole = atob(csrOf({ CN: ["c"] }).replaceAll("\n", ""));
    const body = whole.split("\n")[1] as string;
    for (let cut = 0; cut < body.length; cut += 4) {
      const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${body.slice(0, cut) || "AA=="}\n-----END CERTIFICATE REQUEST-----`;
      assert.throws(() => csrSubject(btoa(pem)), CsrError);
    }
  });
});

describe("OwnerReferencesPermissionEnforcement", () => {
  const owner = (blockOwnerDeletion: boolean) => ({
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: "r",
    uid: "u",
    blockOwnerDeletion,
  });
  const owned = (blocks: boolean) => podWith({}, { ownerReferences: [owner(blocks)] });
  const worldOf = (...allowed: readonly string[]) => {
    const world = new AdmissionWorld();
    Object.assign(world.server, { kinds: [ReplicaSet] });
    world.authorize = async (question) => {
      if (question.type !== "resource") return { decision: "none" };
      const { verb, resource, subresource = "" } = question;
      return allowed.includes(`${verb} ${resource}/${subresource}`)
        ? { decision: "allow" }
        : { decision: "none", reason: "no rule" };
    };
    return world;
  };
  const admit = (world: AdmissionWorld, object: object, old?: object) =>
    world.admit(ownerReferencesPermissionEnforcement, Pod, object, old && { old });

  test("asks for the right to delete what gets an owner", async () => {
    const why = "cannot set an ownerRef on a resource you can't delete: no rule, <nil>";
    assert.equal((await admit(worldOf(), owned(false), podWith())).refusal, `pods "p" is forbidden: ${why}`);
    assert.equal((await admit(worldOf("delete pods/"), owned(false), podWith())).refusal, "");
    assert.equal((await admit(worldOf(), owned(false))).refusal, "");
    assert.equal((await admit(worldOf(), podWith(), podWith())).refusal, "");
  });

  test("asks for the right to hold back an owner", async () => {
    const why =
      "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: no rule, <nil>";
    assert.equal((await admit(worldOf(), owned(true))).refusal, `pods "p" is forbidden: ${why}`);
    assert.equal((await admit(worldOf("update replicasets/finalizers"), owned(true))).refusal, "");
    assert.equal((await admit(worldOf("update */finalizers"), owned(true))).refusal, "");
  });
});

describe("PodNodeSelector", () => {
  const annotated = (annotations: Readonly<Record<string, string>> = {}) => {
    const world = new AdmissionWorld();
    world.have(Namespace, { metadata: { name: "default", annotations } });
    return world;
  };
  const annotation = "scheduler.alpha.kubernetes.io/node-selector";
  const plugin = podNodeSelector({ clusterDefault: "env=dev", whitelists: {} });

  test("adds the selector of the namespace, or that of the cluster", async () => {
    const own = await annotated({ [annotation]: "env=prod, disk=ssd" }).admit(
      plugin,
      Pod,
      podWith({ nodeSelector: { a: "b" } }),
    );
    assert.deepEqual(own.object.spec.nodeSelector, { env: "prod", disk: "ssd", a: "b" });
    assert.deepEqual((await annotated().admit(plugin, Pod, podWith())).object.spec.nodeSelector, { env: "dev" });
  });

  test("refuses another selector", async () => {
    assert.equal(
      (await annotated().admit(plugin, Pod, podWith({ nodeSelector: { env: "prod" } }))).refusal,
      'pods "p" is forbidden: pod node label selector conflicts with its namespace node label selector',
    );
    const strict = podNodeSelector({ clusterDefault: "", whitelists: { default: "env=dev" } });
    assert.equal(
      (await annotated().admit(strict, Pod, podWith({ nodeSelector: { zone: "a" } }))).refusal,
      'pods "p" is forbidden: pod node label selector labels conflict with its namespace whitelist',
    );
  });
});

describe("PodTolerationRestriction", () => {
  const plugin = podTolerationRestriction({ defaults: [], whitelist: [] });
  const annotated = (annotations: Readonly<Record<string, string>>) => {
    const world = new AdmissionWorld();
    world.have(Namespace, { metadata: { name: "default", annotations } });
    return world;
  };
  const key = (name: string) => `scheduler.alpha.kubernetes.io/${name}`;

  test("adds what the namespace gives, and memory pressure to pods that ask for something", async () => {
    const world = annotated({ [key("defaultTolerations")]: '[{"key":"a","operator":"Exists"}]' });
    const { object } = await world.admit(
      plugin,
      Pod,
      podWith({ tolerations: [{ key: "a", operator: "Equal", value: "b" }] }),
    );
    assert.deepEqual(object.spec.tolerations, [{ key: "a", operator: "Exists" }]);
    const asking = podWith({ containers: [{ name: "c", image: "i", resources: { requests: { cpu: "1" } } }] });
    const burstable = await world.admit(plugin, Pod, asking);
    assert.deepEqual(burstable.object.spec.tolerations, [
      { key: "a", operator: "Exists" },
      { key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" },
    ]);
  });

  test("refuses what is not on the list, and lists that cannot be read", async () => {
    const world = annotated({ [key("tolerationsWhitelist")]: '[{"key":"a","operator":"Exists"}]' });
    const pod = podWith({ tolerations: [{ key: "b", operator: "Exists" }] });
    assert.equal(
      (await world.admit(plugin, Pod, pod)).refusal,
      "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist",
    );
    const broken = annotated({ [key("tolerationsWhitelist")]: "{" });
    assert.equal((await broken.admit(plugin, Pod, pod)).error?.code, 500);
  });
});

test("ExtendedResourceToleration tolerates the taints of devices, once", async () => {
  const pod = podWith({
    containers: [{ name: "c", image: "i", resources: { requests: { "example.com/gpu": "1", cpu: "1" } } }],
  });
  const { object } = await new AdmissionWorld().admit(
    [extendedResourceToleration, extendedResourceToleration],
    Pod,
    pod,
  );
  assert.deepEqual(object.spec.tolerations, [{ key: "example.com/gpu", operator: "Exists", effect: "NoSchedule" }]);
});

test("EventRateLimit lets a burst through, then as many as the rate allows", async () => {
  const world = new AdmissionWorld();
  const plugin = eventRateLimit([
    { type: "Namespace", qps: 1, burst: 2 },
    { type: "Server", qps: 100, burst: 100 },
  ]);
  const event = (namespace: string) => ({ metadata: { name: "e", namespace }, involvedObject: {} });
  const send = async (namespace: string) => (await world.admit(plugin, Event, event(namespace))).error;
  assert.deepEqual([await send("a"), await send("a")], [undefined, undefined]);
  const refused = await send("a");
  assert.deepEqual([refused?.code, refused?.reason], [429, "TooManyRequests"]);
  assert.equal(refused?.message, "limit reached on type Namespace for key a");
  assert.equal(await send("b"), undefined);
  await world.clock.advance(1000);
  assert.equal(await send("a"), undefined);
  assert.equal((await send("a"))?.code, 429);
});
