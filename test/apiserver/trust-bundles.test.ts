// ClusterTrustBundles, which are served where they are asked for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { servedBy } from "#apiserver/served/runtime-config.ts";
import { testServer } from "#apiserver/testing.ts";
import { makeAuthority, makeCertificate } from "#cluster/certificate-maker.ts";

const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2036-01-01") };
const [first, second] = [makeAuthority(validity, "first"), makeAuthority(validity, "second")];
const leaf = makeCertificate(first, { commonName: "jane" }, validity);
const bundles = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles";

test("a trust bundle holds authorities, each once, under a name that tells the signer", async () => {
  await using s = await testServer(servedBy(["certificates.k8s.io/v1beta1=true"], []));
  const create = async (name: string, spec: object): Promise<string> => {
    const { code, json } = await s.call("POST", bundles, { metadata: { name }, spec });
    return code === 201
      ? ""
      : json.message.replace(/^ClusterTrustBundle\.certificates\.k8s\.io "[^"]*" is invalid: /, "");
  };
  const [anchor, other] = [first.cert, second.cert];
  const omitted = 'spec.trustBundle: Invalid value: "<value omitted>": ';
  const headed = anchor.replace("\n", "\na: b\n");
  const table: readonly (readonly [string, string, string, string])[] = [
    ["plain", "", `words\n${anchor}${other}`, ""],
    ["example.com:own:x", "example.com/own", anchor, ""],
    [
      "a:b",
      "",
      anchor,
      'metadata.name: Invalid value: "a:b": ClusterTrustBundle without signer name must not have ":" in its name',
    ],
    [
      "x",
      "example.com/own",
      anchor,
      'metadata.name: Invalid value: "x": ClusterTrustBundle for signerName example.com/own must be named with prefix example.com:own:',
    ],
    ["none", "", "words", `${omitted}at least one trust anchor must be provided`],
    ["twice", "", anchor + other + anchor, `${omitted}duplicate trust anchor (indices [0 2])`],
    ["leaf", "", leaf.cert, `${omitted}entry 0 does not have the CA bit set`],
    ["key", "", anchor + first.key, `${omitted}entry 1 has bad block type: EC PRIVATE KEY`],
    ["headers", "", headed, `${omitted}entry 0 has PEM block headers`],
    [
      "bytes",
      "",
      "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      `${omitted}entry 0 does not parse as X.509`,
    ],
  ];
  for (const [name, signerName, trustBundle, expected] of table)
    assert.equal(await create(name, { ...(signerName && { signerName }), trustBundle }), expected, name);

  const selected = await s.call("GET", `${bundles}?fieldSelector=spec.signerName%3Dexample.com%2Fown`);
  assert.deepEqual(
    selected.json.items.map((one: { metadata: { name: string } }) => one.metadata.name),
    ["example.com:own:x"],
  );
  const moved = await s.call(
    "PATCH",
    `${bundles}/example.com:own:x`,
    { spec: { signerName: "example.com/other" } },
    { "content-type": "application/merge-patch+json" },
  );
  assert.match(moved.json.message, /spec\.signerName: Invalid value: "example\.com\/other": field is immutable/);
});

test("to speak for a signer takes the right to attest for it", async () => {
  let rights: readonly string[] = [];
  await using s = await testServer({
    ...servedBy(["certificates.k8s.io/v1beta1=true"], []),
    admission: admissionOf({}),
    users: { token: { name: "ann", groups: [] } },
    authorizers: () => [
      (question) => ({
        decision:
          question.type !== "resource" || question.verb !== "attest" || rights.includes(question.name ?? "")
            ? "allow"
            : "deny",
      }),
    ],
  });
  const asAnn = { authorization: "Bearer token" };
  const create = (name: string, spec: object) => s.call("POST", bundles, { metadata: { name }, spec }, asAnn);
  const own = { signerName: "example.com/own", trustBundle: first.cert };
  const refused = await create("example.com:own:a", own);
  assert.equal(refused.code, 403);
  assert.match(refused.json.message, /user not permitted to attest for signerName "example\.com\/own"$/);
  assert.equal((await create("free", { trustBundle: first.cert })).code, 201);
  rights = ["example.com/*"];
  assert.equal((await create("example.com:own:a", own)).code, 201);
  rights = [];
  const merge = { ...asAnn, "content-type": "application/merge-patch+json" };
  const patch = (value: object) => s.call("PATCH", `${bundles}/example.com:own:a`, value, merge);
  assert.equal((await patch({ spec: { trustBundle: second.cert } })).code, 403);
  assert.equal((await patch({ metadata: { finalizers: ["example.com/f"] } })).code, 200, "the garbage collector may");
});

test("a server that is not asked for trust bundles has none", async () => {
  await using s = await testServer();
  assert.equal((await s.call("GET", bundles)).code, 404);
});
