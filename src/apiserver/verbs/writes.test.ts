// What every write of every kind has in common: what a body may say of its name, its kind, its identity and its version.
import assert from "node:assert/strict";
import { test } from "node:test";
import { catalog } from "#api/catalog.ts";
import type { AnyKind } from "#schema/kind.ts";
import { type TestServer, testServer } from "../testing.ts";

const stored = catalog.filter((kind) => kind.stored !== false);
const collectionOf = ({ group, version, plural, scope }: AnyKind): string =>
  `${group ? `/apis/${group}` : "/api"}/${version}${scope === "Namespaced" ? "/namespaces/dev" : ""}/${plural}`;

async function serverWithNamespace(): Promise<TestServer> {
  const s = await testServer();
  await s.call("POST", "/api/v1/namespaces", { metadata: { name: "dev" } });
  return s;
}

/** Asks once for each kind that allows the verb, and tells the kinds that were answered otherwise than expected. */
async function otherwise(
  verb: AnyKind["verbs"][number],
  ask: (s: TestServer, path: string, kind: AnyKind) => Promise<string>,
  expected: (kind: AnyKind) => string,
): Promise<readonly string[]> {
  await using s = await serverWithNamespace();
  const wrong: string[] = [];
  for (const kind of stored) {
    if (!kind.verbs.includes(verb)) continue;
    const answer = await ask(s, collectionOf(kind), kind);
    if (answer !== expected(kind)) wrong.push(`${kind.apiVersion} ${kind.kind}: ${answer}`);
  }
  return wrong;
}

const summary = ({ code, json }: Awaited<ReturnType<TestServer["call"]>>): string => `${code} ${json.message}`;

for (const subresource of ["", "/status"])
  test(`an update of x${subresource} that does not say its name is refused, whatever the kind`, async () => {
    const hasPath = (kind: AnyKind) => subresource === "" || kind.subresources?.status;
    const message = "the name of the object (x based on URL) was undeterminable: name must be provided";
    assert.deepEqual(
      await otherwise(
        "update",
        async (s, path, kind) => (hasPath(kind) ? summary(await s.call("PUT", `${path}/x${subresource}`, {})) : ""),
        (kind) => (hasPath(kind) ? `400 ${message}` : ""),
      ),
      [],
    );
  });

test("a body of another kind is refused, whatever the kind", async () => {
  const other = ({ kind }: AnyKind) => (kind === "ConfigMap" ? "Pod" : "ConfigMap");
  const inPackage = ({ group }: AnyKind) => (group.split(".")[0] ?? "").replace(/^(events)?$/, "core");
  for (const [method, name] of [
    ["POST", ""],
    ["PUT", "/x"],
  ] as const)
    assert.deepEqual(
      await otherwise(
        method === "POST" ? "create" : "update",
        async (s, path, kind) =>
          summary(await s.call(method, path + name, { kind: other(kind), apiVersion: "v1", metadata: { name: "x" } })),
        (kind) =>
          `400 ${other(kind)} in version "v1" cannot be handled as a ${kind.kind}: converting (v1.${other(kind)}) to (${inPackage(kind)}.${kind.kind}): unknown conversion`,
      ),
      [],
    );
});

test("a deletion whose options are of another kind deletes nothing, whatever the kind", async () => {
  const scheme = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27";
  for (const [verb, name] of [
    ["delete", "/x"],
    ["deletecollection", ""],
  ] as const)
    assert.deepEqual(
      await otherwise(
        verb,
        async (s, path) => summary(await s.call("DELETE", path + name, { kind: "Pod", apiVersion: "v1" })),
        () => `400 no kind "Pod" is registered for version "v1" in scheme "${scheme}"`,
      ),
      [],
    );
});

test("applying what does not exist is refused if it says which one it is, whatever the kind", async () => {
  assert.deepEqual(
    await otherwise(
      "patch",
      async (s, path, kind) => {
        const { apiVersion, kind: name } = kind;
        const body = { apiVersion, kind: name, metadata: { name: "x", uid: "u" } };
        const headers = { "content-type": "application/apply-patch+yaml" };
        const { code, json } = await s.call("PATCH", `${path}/x?fieldManager=me`, body, headers);
        return `${code} ${json.reason} ${json.message?.endsWith("uid mismatch: the provided object specified uid u, and no existing object was found")}`;
      },
      () => "409 Conflict true",
    ),
    [],
  );
});

test("a finalizer is a standard one or says whose it is, but in the groups of upstream's libraries", async () => {
  const free = new Set(["admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"]);
  const text =
    'metadata.finalizers[0]: Invalid value: "bad": name is neither a standard finalizer name nor is it fully qualified';
  assert.deepEqual(
    await otherwise(
      "create",
      async (s, path) => {
        const metadata = { name: "x", finalizers: ["bad", "orphan", "a.io/b"] };
        const { json } = await s.call("POST", `${path}?dryRun=All`, { metadata });
        return JSON.stringify([
          json.message?.includes(text) ?? false,
          json.message?.includes("finalizers[1]") ?? false,
        ]);
      },
      // What is wrong with an event of the newer group is said before its metadata is looked at.
      ({ group }) => JSON.stringify([!free.has(group) && group !== "events.k8s.io", false]),
    ),
    [],
  );
});

const maps = "/api/v1/namespaces/dev/configmaps";
const leases = "/apis/coordination.k8s.io/v1/namespaces/dev/leases";
const patchTypes = {
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

test("an update with resourceVersion 0 is for whatever is there, unless the kind forbids that", async () => {
  await using s = await serverWithNamespace();
  await s.call("POST", maps, { metadata: { name: "x" } });
  await s.call("POST", leases, { metadata: { name: "x" } });
  const refused = `422 leases.coordination.k8s.io "x" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`;
  for (const resourceVersion of ["0", "", "00"]) {
    const body = { metadata: { name: "x", resourceVersion } };
    assert.equal((await s.call("PUT", `${maps}/x`, body)).code, 200);
    assert.equal(summary(await s.call("PUT", `${leases}/x`, body)), refused);
  }
  for (const type of Object.values(patchTypes)) {
    const headers = { "content-type": type };
    const body = { metadata: { resourceVersion: "0" }, data: { [type.slice(12, 17)]: "y" } };
    assert.equal((await s.call("PATCH", `${maps}/x`, body, headers)).code, 200);
    assert.equal(
      summary(await s.call("PATCH", `${leases}/x`, { metadata: { resourceVersion: "0" } }, headers)),
      refused,
    );
  }
});

test("a resourceVersion that is none is an error of Go, one that is not the present one a conflict", async () => {
  await using s = await serverWithNamespace();
  await s.call("POST", maps, { metadata: { name: "x" } });
  const put = async (resourceVersion: string) => {
    const { code, json } = await s.call("PUT", `${maps}/x`, { metadata: { name: "x", resourceVersion } });
    return [code, json.reason, json.message];
  };
  assert.deepEqual(await put("abc"), [500, undefined, 'strconv.ParseUint: parsing "abc": invalid syntax']);
  assert.deepEqual(await put("-1"), [500, undefined, 'strconv.ParseUint: parsing "-1": invalid syntax']);
  const long = "9".repeat(30);
  assert.deepEqual(await put(long), [500, undefined, `strconv.ParseUint: parsing "${long}": value out of range`]);
  assert.deepEqual((await put("99999999999999999")).slice(0, 2), [409, "Conflict"]);
});

test("what is created has no resourceVersion yet", async () => {
  await using s = await serverWithNamespace();
  const body = (resourceVersion: string) => ({ metadata: { name: "x", resourceVersion } });
  assert.equal(
    summary(await s.call("POST", maps, body("5"))),
    "500 resourceVersion should not be set on objects to be created",
  );
  assert.equal((await s.call("POST", `${maps}?dryRun=All`, body("5"))).json.metadata.resourceVersion, "5");
  assert.equal((await s.call("POST", maps, body("0"))).code, 201);
  assert.equal((await s.call("PUT", `${leases}/x`, body("5"))).code, 201);
});

test("an update may create what may be created so, without naming a resourceVersion", async () => {
  await using s = await serverWithNamespace();
  assert.equal((await s.call("PUT", `${leases}/x`, { metadata: { name: "x" } })).code, 201);
  assert.equal((await s.call("PUT", `${leases}/x`, { metadata: { name: "x" } })).code, 422);
  const conflict = await s.call("PUT", `${leases}/y`, { metadata: { name: "y", uid: "u" } });
  assert.deepEqual([conflict.code, conflict.json.reason], [409, "Conflict"]);
});

test("an update of an object that was made anew is a conflict, a patch of its identity is refused", async () => {
  await using s = await serverWithNamespace();
  const { uid } = (await s.call("POST", maps, { metadata: { name: "x" } })).json.metadata;
  assert.equal(
    summary(await s.call("PUT", `${maps}/x`, { metadata: { name: "x", uid: "u" } })),
    `409 Operation cannot be fulfilled on configmaps "x": StorageError: invalid object, Code: 4, Key: /registry/configmaps/dev/x, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: u, UID in object meta: ${uid}`,
  );
  const patch = (metadata: object, type: string) =>
    s.call("PATCH", `${maps}/x`, { metadata }, { "content-type": type });
  for (const type of Object.values(patchTypes)) {
    assert.equal((await patch({ uid: "u" }, type)).code, 422);
    assert.equal(
      summary(await patch({ name: "z" }, type)),
      "400 the name of the object (z) does not match the name on the URL (x)",
    );
    assert.equal(
      summary(await patch({ namespace: "z" }, type)),
      "400 the namespace of the provided object does not match the namespace sent on the request",
    );
  }
});

test("a patch may not change what an object is, but for a strategic one, of which upstream does not look at it", async () => {
  await using s = await serverWithNamespace();
  await s.call("POST", maps, { metadata: { name: "x" } });
  const patch = (body: object, type: string) => s.call("PATCH", `${maps}/x`, body, { "content-type": type });
  const refused = await patch({ kind: "Pod" }, patchTypes.merge);
  assert.equal(refused.code, 422);
  assert.match(refused.json.message, /: converting \(v1\.Pod\) to \(core\.ConfigMap\): unknown conversion$/);
  const replaced = await patch([{ op: "replace", path: "/apiVersion", value: "v2" }], "application/json-patch+json");
  assert.match(replaced.json.message, /no kind "ConfigMap" is registered for version "v2" in scheme/);
  const { code, json } = await patch({ kind: "Pod", data: { a: "b" } }, patchTypes.strategic);
  assert.deepEqual([code, json.kind, json.data], [200, "ConfigMap", { a: "b" }]);
});

test("what a strategic patch makes of the wrong type is worded as Go's converter does", async () => {
  await using s = await serverWithNamespace();
  const pods = "/api/v1/namespaces/dev/pods";
  await s.call("POST", pods, { metadata: { name: "x" }, spec: { containers: [{ name: "c", image: "i" }] } });
  const table: readonly (readonly [object, string])[] = [
    [{ metadata: { labels: "invalid" } }, "cannot restore map from string"],
    [{ metadata: { finalizers: { a: "b" } } }, "cannot restore slice from map"],
    [{ spec: { containers: "x" } }, "cannot restore slice from string"],
    [{ spec: "x" }, "cannot restore struct from: string"],
    [{ spec: { hostNetwork: "x" } }, "unrecognized type: bool"],
    [{ spec: { terminationGracePeriodSeconds: "x" } }, "unrecognized type: int64"],
    [{ spec: { terminationGracePeriodSeconds: 1.5 } }, "cannot convert float64 to int64"],
    [{ metadata: { labels: { a: 1 } } }, "cannot convert int64 to string"],
    [{ metadata: { labels: { a: true } } }, "unrecognized type: string"],
  ];
  for (const [body, text] of table) {
    const { code, json } = await s.call("PATCH", `${pods}/x`, body, { "content-type": patchTypes.strategic });
    assert.deepEqual([code, json.message.endsWith(`: ${text}`)], [422, true], json.message);
  }
});

test("of an object's times and namespace a client's word counts only where upstream takes it", async () => {
  await using s = await serverWithNamespace();
  const then = "2001-01-01T00:00:00Z";
  const { json: made } = await s.call("POST", maps, {
    metadata: { name: "x", uid: "u", creationTimestamp: then, deletionTimestamp: then, generation: 7 },
  });
  const { uid, creationTimestamp, generation, deletionTimestamp } = made.metadata;
  assert.deepEqual(
    [uid === "u", creationTimestamp === then, generation, deletionTimestamp],
    [false, false, 7, undefined],
  );
  const ignored = await s.call("PUT", `${maps}/x`, { metadata: { name: "x", creationTimestamp: then, generation: 9 } });
  assert.deepEqual([ignored.code, ignored.json.metadata], [200, made.metadata]);
  const refused = await s.call("PUT", `${maps}/x`, { metadata: { name: "x", deletionTimestamp: then } });
  assert.match(summary(refused), /^422 .*metadata\.deletionTimestamp: Invalid value: .*: field is immutable$/);
  const { code, json } = await s.call("POST", "/api/v1/namespaces", { metadata: { name: "y", namespace: "z" } });
  assert.deepEqual([code, json.metadata.namespace], [201, undefined]);
});

test("a client owns what a daemon set says of its template's generation, and a job's labels are those of its template", async () => {
  await using s = await serverWithNamespace();
  const template = {
    metadata: { labels: { a: "b" } },
    spec: { containers: [{ name: "c", image: "i" }] },
  };
  const spec = { selector: { matchLabels: { a: "b" } }, template };
  const set = await s.call("POST", "/apis/apps/v1/namespaces/dev/daemonsets", { metadata: { name: "x" }, spec });
  const annotation = "deprecated.daemonset.template.generation";
  assert.equal(set.json.metadata.annotations?.[annotation], "1");
  assert.deepEqual(set.json.metadata.managedFields?.[0]?.fieldsV1?.["f:metadata"], {
    "f:annotations": { ".": {}, [`f:${annotation}`]: {} },
  });
  const job = await s.call("POST", "/apis/batch/v1/namespaces/dev/jobs", {
    metadata: { name: "x" },
    spec: { template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } } },
  });
  const { uid } = job.json.metadata;
  const labels = {
    a: "b",
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": "x",
    "controller-uid": uid,
    "job-name": "x",
  };
  assert.deepEqual([job.json.metadata.labels, job.json.spec.template.metadata.labels], [labels, labels]);
});

test("a client learns of fields that nobody knows also when its object is refused", async () => {
  await using s = await serverWithNamespace();
  const ask = async (name: string) => {
    const { code, headers } = await s.call("POST", maps, { metadata: { name }, dta: {} });
    return [code, headers?.warning];
  };
  const warning = ['299 - "unknown field \\"dta\\""'];
  assert.deepEqual(await ask("x"), [201, warning]);
  assert.deepEqual(await ask("x"), [409, warning]);
  assert.deepEqual(await ask("X"), [422, warning]);
});
