import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseEncryptionConfiguration } from "./configuration.ts";

const head = "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\n";
const secret = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

function refusal(text: string): string {
  try {
    parseEncryptionConfiguration(text);
  } catch (error) {
    assert.ok(error instanceof Error);
    return error.message;
  }
  return "";
}

/** What upstream's own code says of each, k8s.io/apiserver v0.36.3 with reload on. */
const refused: readonly (readonly [string, string])[] = [
  [
    "resources:\n- resources: ['secrets.*']\n  providers:\n  - identity: {}\n",
    'error while parsing file: resources[0].resources[0]: Invalid value: "secrets.*": encrypting the same resource across groups is not supported',
  ],
  [
    "resources:\n- resources: [Secrets]\n  providers:\n  - identity: {}\n",
    'error while parsing file: resources[0].resources[0]: Invalid value: "Secrets": resource name should not contain capital letters',
  ],
  [
    "resources:\n- resources: [secrets, secrets]\n  providers:\n  - identity: {}\n",
    'error while parsing file: resources[0].resources: Invalid value: ["secrets","secrets"]: the same resource cannot be specified multiple times',
  ],
  ["", "error while parsing file: resources: Required value: at least one resources is required"],
  [
    "resources:\n- resources: [events.events.k8s.io, '*.events.k8s.io']\n  providers:\n  - identity: {}\n",
    "error while parsing file: [resources[0].resources: Invalid value: [\"events.events.k8s.io\",\"*.events.k8s.io\"]: using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked, resources[0].resources[0]: Invalid value: \"events.events.k8s.io\": '*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file, resources[0].resources[1]: Invalid value: \"*.events.k8s.io\": '*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file]",
  ],
  [
    "resources:\n- resources: [deployments.extensions]\n  providers:\n  - identity: {}\n",
    "error while parsing file: resources[0].resources[0]: Invalid value: \"deployments.extensions\": 'extensions' group has been removed and cannot be used for encryption",
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - aescbc: {keys: [{name: a, secret: YWJj}]}\n  - secretbox: {keys: [{name: a, secret: AAECAwQFBgcICQoLDA0ODw==}]}\n",
    'error while parsing file: [resources[0].providers[0].aescbc.keys[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 3, expected one of [16 24 32], resources[0].providers[1].secretbox.keys[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 16, expected one of [32]]',
  ],
  [
    'resources:\n- resources: [secrets]\n  providers:\n  - kms: {apiVersion: v2, name: foo, endpoint: "unix:///foo\\n%%a"}\n',
    'error while parsing file: resources[0].providers[0].kms.endpoint: Invalid value: "unix:///foo\\n%%a": invalid endpoint for kms provider, error: parse "unix:///foo\\n%%a": net/url: invalid control character in URL',
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - kms: {apiVersion: v2, name: foo, endpoint: 'unix:///tmp/x.sock', cachesize: 5}\n",
    "error while parsing file: resources[0].providers[0].kms.cachesize: Invalid value: 5: cachesize is not supported in v2",
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - kms: {apiVersion: v1, name: foo, endpoint: 'unix:///tmp/x.sock', cachesize: 0}\n",
    "error while parsing file: resources[0].providers[0].kms.cachesize: Invalid value: 0: cachesize should be a positive value, or negative to disable",
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - kms: {apiVersion: v2, name: 'a:b', endpoint: 'unix:///tmp/x.sock'}\n",
    "error while parsing file: resources[0].providers[0].kms.name: Invalid value: \"a:b\": invalid KMS provider name a:b, must not contain ':'",
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - kms: {apiVersion: v2, name: a, endpoint: 'unix:///tmp/x.sock'}\n  - kms: {apiVersion: v2, name: a, endpoint: 'unix:///tmp/y.sock'}\n",
    'error while parsing file: resources[0].providers[1].kms.name: Invalid value: "a": duplicate KMS provider name a, names must be unique',
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - kms: {apiVersion: v2, name: foo, endpoint: 'http://x'}\n",
    'error while parsing file: resources[0].providers[0].kms.endpoint: Invalid value: "http://x": unsupported scheme "http" for KMS provider, only unix is supported',
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - kms: {apiVersion: v2, name: foo}\n",
    'error while parsing file: resources[0].providers[0].kms.endpoint: Invalid value: "": endpoint is a mandatory field for a kms',
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - kms: {apiVersion: v2, endpoint: 'unix:///tmp/x.sock'}\n",
    "error while parsing file: resources[0].providers[0].kms.name: Required value: name is a mandatory field for a provider",
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - kms: {apiVersion: v2, name: foo, endpoint: 'unix:///tmp/x.sock', timeout: 0s}\n",
    'error while parsing file: resources[0].providers[0].kms.timeout: Invalid value: "0s": timeout should be a positive value',
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - kms: {apiVersion: v3, name: foo, endpoint: 'unix:///tmp/x.sock'}\n",
    'error while parsing file: resources[0].providers[0].kms.apiVersion: Invalid value: "v3": unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported',
  ],
  [
    "resources:\n- resources: ['*.']\n  providers:\n  - identity: {}\n- resources: [secrets]\n  providers:\n  - identity: {}\n",
    'error while building transformers: resource "secrets" is masked by earlier rule "*."',
  ],
  [
    "resources:\n- resources: ['*.*']\n  providers:\n  - identity: {}\n- resources: ['*.apps']\n  providers:\n  - identity: {}\n",
    'error while building transformers: resource "*.apps" is masked by earlier rule "*.*"',
  ],
  [
    "resources:\n- resources: ['*.apps']\n  providers:\n  - identity: {}\n- resources: [deployments.apps]\n  providers:\n  - identity: {}\n",
    'error while building transformers: resource "deployments.apps" is masked by earlier rule "*.apps"',
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - aesgcm: {}\n  - aescbc: {keys: []}\n  - secretbox: {}\n",
    "error while parsing file: [resources[0].providers[0].aesgcm.keys: Required value: at least one keys is required, resources[0].providers[1].aescbc.keys: Required value: at least one keys is required, resources[0].providers[2].secretbox.keys: Required value: at least one keys is required]",
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - aescbc: {keys: [{secret: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=}]}\n",
    "error while parsing file: resources[0].providers[0].aescbc.keys[0].name: Required value: name is a mandatory field for a key",
  ],
  [
    "resources:\n- resources: [apiserveripinfo, serviceipallocations, servicenodeportallocations]\n  providers:\n  - identity: {}\n",
    'error while parsing file: [resources[0].resources[0]: Invalid value: "apiserveripinfo": resources which do not have REST API/s cannot be encrypted, resources[0].resources[1]: Invalid value: "serviceipallocations": resources which do not have REST API/s cannot be encrypted, resources[0].resources[2]: Invalid value: "servicenodeportallocations": resources which do not have REST API/s cannot be encrypted]',
  ],
  [
    "resources:\n- resources: [secrets]\n",
    "error while parsing file: resources[0].providers: Required value: at least one resources[0].providers is required",
  ],
  [
    "resources:\n- resources: []\n  providers:\n  - identity: {}\n",
    "error while parsing file: resources[0].resources: Required value: at least one resources[0].resources is required",
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - aescbc: {keys: [{name: a}]}\n",
    "error while parsing file: resources[0].providers[0].aescbc.keys[0].secret: Required value: secret is a mandatory field for a key",
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - aescbc: {keys: [{name: a, secret: '!!!'}]}\n",
    'error while parsing file: resources[0].providers[0].aescbc.keys[0].secret: Invalid value: "REDACTED": secrets must be base64 encoded',
  ],
  [
    "resources:\n- resources: [secrets, '*.']\n  providers:\n  - identity: {}\n",
    "error while parsing file: resources[0].resources: Invalid value: [\"secrets\",\"*.\"]: using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked",
  ],
  [
    "resources:\n- resources: ['*.*', secrets, secrets]\n  providers:\n  - identity: {}\n",
    'error while parsing file: [resources[0].resources: Invalid value: ["*.*","secrets","secrets"]: the same resource cannot be specified multiple times, resources[0].resources: Invalid value: ["*.*","secrets","secrets"]: using overlapping resources such as \'secrets\' and \'*.\' in the same resource list is not allowed as they will be masked]',
  ],
  [
    "resources:\n- resources: ['*']\n  providers:\n  - identity: {}\n",
    "error while parsing file: resources[0].resources[0]: Invalid value: \"*\": use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources",
  ],
  [
    "foo: 1\nresources:\n- resources: [secrets]\n  providers:\n  - identity: {}\n",
    'error while parsing file: unknown field "foo"',
  ],
  [
    "resources:\n- resources: [secrets]\n  providers:\n  - foo: {}\n",
    'error while parsing file: unknown field "resources[0].providers[0].foo"',
  ],
];

for (const [text, message] of refused)
  test(`refused as upstream does: ${message.slice(0, 100)}`, () => {
    assert.equal(refusal(head + text), message);
  });

test("what is no such file is refused", () => {
  assert.match(refusal(""), /is empty/);
  assert.match(refusal("{"), /failed decoding/);
  assert.match(refusal("resources: []"), /Object 'Kind' is missing/);
  assert.match(refusal("kind: Pod\napiVersion: v1"), /no kind "Pod" is registered for version "v1"/);
  assert.match(refusal(`${head}resources: {}`), /resources: must be a list/);
  assert.match(refusal(`${head}resources: [{resources: [1], providers: [{identity: {}}]}]`), /must be a string/);
});

test("no refusal tells a secret", () => {
  const two = `${head}resources:\n- resources: [secrets]\n  providers:\n  - {identity: {}, aesgcm: {keys: [{name: a, secret: ${secret}}]}}\n`;
  assert.match(refusal(two), /more than one provider specified in a single element/);
  assert.ok(!refusal(two).includes(secret));
  for (const bad of ["x", `${secret}AAAA`, `!${secret}`]) {
    const text = `${head}resources:\n- resources: [secrets]\n  providers:\n  - aescbc: {keys: [{name: a, secret: "${bad}"}]}\n`;
    assert.match(refusal(text), /REDACTED/);
    assert.ok(!refusal(text).includes(secret));
  }
});

test("version 1 of key services is refused with what to do", () => {
  const text = `${head}resources:\n- resources: [secrets]\n  providers:\n  - kms: {name: a, endpoint: "unix:///x.sock"}\n`;
  assert.match(refusal(text), /KMSv1 is deprecated.*Use KMSv2 instead.*set apiVersion to v2/);
});

test("rules keep the order of providers, and lists of one resource are joined", () => {
  const rules = parseEncryptionConfiguration(`${head}resources:
- resources: [secrets, pandas.awesome.bears.example]
  providers:
  - aesgcm: {keys: [{name: a, secret: ${secret}}, {name: b, secret: AAECAwQFBgcICQoLDA0ODw==}]}
  - kms: {apiVersion: v2, name: k, endpoint: "unix:///run/kms.sock", timeout: 5s}
- resources: [secrets, '*.apps']
  providers: [{identity: {}}]
- resources: ['*.*']
  providers: [{secretbox: {keys: [{name: s, secret: ${secret}}]}}]
`);
  const shown = [...rules].map(([resource, providers]) => `${resource}: ${providers.map(({ type }) => type)}`);
  assert.deepEqual(shown, [
    "secrets: aesgcm,kms,identity",
    "pandas.awesome.bears.example: aesgcm,kms",
    "*.apps: identity",
    "*.*: secretbox",
  ]);
  const [first, second] = rules.get("secrets") ?? [];
  assert.ok(first?.type === "aesgcm");
  assert.deepEqual(
    first.keys.map(({ name, secret: { length } }) => [name, length]),
    [
      ["a", 32],
      ["b", 16],
    ],
  );
  assert.deepEqual(second, { type: "kms", name: "k", endpoint: "unix:///run/kms.sock", timeoutMs: 5000 });
});

test("the name that the kind had before is taken", () => {
  assert.equal(
    refusal("kind: EncryptionConfig\napiVersion: v1\nresources: [{resources: [secrets], providers: [{identity: {}}]}]"),
    "",
  );
});

test("whatever a file holds is taken or refused with an error, and no secret is in it", () => {
  const provider = fc.oneof(
    fc.constant({ identity: {} }),
    fc.record({ aesgcm: fc.record({ keys: fc.array(fc.record({ name: fc.string(), secret: fc.base64String() })) }) }),
    fc.record({
      kms: fc.record({ apiVersion: fc.string(), name: fc.string(), endpoint: fc.webUrl(), timeout: fc.string() }),
    }),
    fc.jsonValue(),
  );
  const file = fc.record({
    kind: fc.constant("EncryptionConfiguration"),
    apiVersion: fc.constant("apiserver.config.k8s.io/v1"),
    resources: fc.array(fc.record({ resources: fc.array(fc.string()), providers: fc.array(provider) })),
  });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        file.map((value) => JSON.stringify(value)),
      ),
      (text) => {
        refusal(text);
        refusal(head + text);
      },
    ),
    { numRuns: 200 },
  );
});
