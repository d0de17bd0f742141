// Policies against a server in memory: what they refuse, warn of, note and change, and what becomes of policies that fail.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type TestAnswer, type TestServer, testServer } from "../../testing.ts";
import { admissionOf } from "../configuration.ts";

const admission = "/apis/admissionregistration.k8s.io/v1";
const configMaps = "/api/v1/namespaces/default/configmaps";
const ofConfigMaps = {
  resourceRules: [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["configmaps"] },
  ],
};

async function startServer(options: Parameters<typeof testServer>[0] = {}) {
  const s = await testServer({ admission: admissionOf({}), ...options });
  for (const name of ["default", "other"])
    await s.call("POST", "/api/v1/namespaces", { metadata: { name, labels: { env: name } } });
  return s;
}

async function have(s: TestServer, type: "validating" | "mutating", name: string, spec: object, binding: object = {}) {
  const put = async (plural: string, body: object) => {
    const made = await s.call("POST", `${admission}/${type}admission${plural}`, { metadata: { name }, spec: body });
    assert.equal(made.code, 201, made.text);
    assert.equal(made.headers?.warning, undefined);
  };
  await put("policies", { matchConstraints: ofConfigMaps, ...spec });
  await put("policybindings", {
    policyName: name,
    ...(type === "validating" && { validationActions: ["Deny"] }),
    ...binding,
  });
  await s.call("GET", `${admission}/${type}admissionpolicybindings`);
}

let next = 0;
const create = (s: TestServer, data: object | undefined, more: object = {}, query = "") =>
  s.call("POST", `${configMaps}${query}`, { metadata: { name: `m${next++}`, ...more }, ...(data && { data }) });
const said = (answer: TestAnswer) =>
  `${answer.code} ${String(answer.json.message ?? "").replace(/^.*denied request: /, "")}`;

test("a validation that does not hold refuses, with the message and the reason of the policy", async () => {
  await using s = await startServer();
  await have(s, "validating", "p", {
    variables: [{ name: "a", expression: "object.data.a" }],
    validations: [
      { expression: "variables.a != '1'", messageExpression: "'got ' + variables.a", reason: "Forbidden" },
      { expression: "variables.a != '2'", message: "not two" },
      { expression: "variables.a != '3'" },
    ],
  });
  assert.equal((await create(s, { a: "0" })).code, 201);
  const refused = await create(s, { a: "1" });
  assert.deepEqual([refused.code, refused.json.reason], [403, "Forbidden"]);
  assert.match(
    String(refused.json.message),
    /^configmaps "m\d+" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: got 1$/,
  );
  assert.equal(said(await create(s, { a: "2" })), "422 not two");
  assert.equal(said(await create(s, { a: "3" })), "422 failed expression: variables.a != '3'");
  assert.equal(
    said(await create(s, {})),
    `422 expression 'variables.a != '1'' resulted in error: composited variable "a" fails to evaluate: no such key: data`,
  );
});

test("bindings decide what a failure does: deny, warn, or only note", async () => {
  await using s = await startServer();
  const validations = [{ expression: "false", message: "no" }];
  await have(s, "validating", "w", { validations }, { validationActions: ["Warn", "Audit"] });
  const warned = await create(s, {});
  assert.equal(warned.code, 201);
  assert.match(
    String(warned.headers?.warning),
    /"Validation failed for ValidatingAdmissionPolicy 'w' with binding 'w': no"/,
  );
});

test("failure policy, match conditions and what a policy matches are obeyed", async () => {
  const refuses = async (spec: object, data: object = { a: "1" }, binding: object = {}) => {
    await using s = await startServer();
    await have(s, "validating", "p", { validations: [{ expression: "false" }], ...spec }, binding);
    return (await create(s, data, { labels: { l: "x" } })).code !== 201;
  };
  const failing = { validations: [{ expression: "object.data.nope == '1'" }] };
  assert.equal(await refuses(failing), true);
  assert.equal(await refuses({ ...failing, failurePolicy: "Ignore" }), false);
  const conditions = (expression: string) => ({ matchConditions: [{ name: "c", expression }] });
  assert.equal(await refuses(conditions("object.data.a == '1'")), true);
  assert.equal(await refuses(conditions("object.data.a == '2'")), false);
  assert.equal(await refuses(conditions("object.data.nope == '1'")), true);
  assert.equal(await refuses({ ...conditions("object.data.nope == '1'"), failurePolicy: "Ignore" }), false);
  const inOther = { namespaceSelector: { matchLabels: { env: "other" } } };
  assert.equal(await refuses({ matchConstraints: { ...ofConfigMaps, ...inOther } }), false);
  assert.equal(await refuses({}, {}, { matchResources: inOther }), false);
  assert.equal(await refuses({}, {}, { matchResources: { objectSelector: { matchLabels: { l: "x" } } } }), true);
  const excluded = { ...ofConfigMaps, excludeResourceRules: ofConfigMaps.resourceRules };
  assert.equal(await refuses({ matchConstraints: excluded }), false);
});

test("parameters are found by name and by selector, and missing ones are allowed or denied", async () => {
  await using s = await startServer();
  for (const max of ["3", "5"])
    await s.call("POST", configMaps, { metadata: { name: `max-${max}`, labels: { role: "max" } }, data: { max } });
  const spec = {
    paramKind: { apiVersion: "v1", kind: "ConfigMap" },
    matchConstraints: {
      resourceRules: [{ ...ofConfigMaps.resourceRules[0], resources: ["secrets"] }],
    },
    validations: [
      {
        expression: "params == null || int(object.metadata.labels.n) < int(params.data.max)",
        messageExpression: "'max is ' + params.data.max",
      },
    ],
  };
  const paramRef = (ref: object, action = "Deny") => ({ paramRef: { parameterNotFoundAction: action, ...ref } });
  const secret = (n: string) =>
    s.call("POST", "/api/v1/namespaces/default/secrets?dryRun=All", { metadata: { name: "s", labels: { n } } });
  const bound = async (name: string, binding: object, n: string) => {
    await have(s, "validating", name, spec, binding);
    const answer = said(await secret(n));
    for (const plural of ["policybindings", "policies"])
      await s.call("DELETE", `${admission}/validatingadmission${plural}/${name}`);
    return answer;
  };
  assert.equal(await bound("a", paramRef({ name: "max-3" }), "4"), "422 max is 3");
  assert.equal(await bound("b", paramRef({ name: "max-5" }), "4"), "201 ");
  const selector = { matchLabels: { role: "max" } };
  assert.equal(await bound("c", paramRef({ selector }), "4"), "422 max is 3");
  assert.equal(await bound("d", paramRef({ selector }), "2"), "201 ");
  assert.match(await bound("e", paramRef({ name: "nope" }), "4"), /^422 failed to configure binding: no params found/);
  assert.equal(await bound("f", paramRef({ name: "nope" }, "Allow"), "4"), "201 ");
  assert.equal(await bound("g", {}, "4"), "201 ");
});

test("a policy may ask who may do what, and waits for authorizers that take their time", async () => {
  const asked: string[] = [];
  await using s = await startServer({
    authorizers: () => [
      async (question) => {
        if (question.type === "path") asked.push(`${question.user.name} ${question.verb} ${question.path}`);
        return { decision: question.type === "path" && question.path === "/no" ? "deny" : "allow", reason: "because" };
      },
    ],
  });
  await have(s, "validating", "p", {
    validations: [
      { expression: "authorizer.path('/yes').check('get').allowed()", message: "yes" },
      { expression: "authorizer.requestResource.check('create').allowed()", message: "own" },
      { expression: "authorizer.serviceAccount('a', 'b').path('/no').check('get').allowed()", message: "no" },
    ],
  });
  assert.equal(said(await create(s, {})), "422 no");
  // Masters need not be asked for.
  assert.deepEqual(asked, ["system:serviceaccount:a:b get /no"]);
});

test("mutations are merged or patched in order, and validating policies see what they made", async () => {
  await using s = await startServer();
  await have(s, "mutating", "m", {
    reinvocationPolicy: "Never",
    variables: [{ name: "v", expression: "'1'" }],
    mutations: [
      {
        patchType: "ApplyConfiguration",
        applyConfiguration: {
          expression: "Object{metadata: Object.metadata{labels: {'l': variables.v}}, data: {'one': variables.v}}",
        },
      },
      {
        patchType: "JSONPatch",
        jsonPatch: {
          expression:
            "[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('t/o'), value: object.data.one + '2'}]",
        },
      },
    ],
  });
  const made = await create(s, { a: "0" }, { labels: { own: "x" } });
  assert.equal(made.code, 422, made.text); // the key is for the validation of ConfigMaps to refuse
  assert.match(String(made.json.message), /data\[t\/o\]: Invalid value/);
});

test("a mutation that fails is refused or ignored, and one that makes nonsense is an error", async () => {
  const mutate = async (expression: string, more: object = {}) => {
    await using s = await startServer();
    const patchType = expression.startsWith("[") ? "JSONPatch" : "ApplyConfiguration";
    const field = patchType === "JSONPatch" ? "jsonPatch" : "applyConfiguration";
    await have(s, "mutating", "m", {
      reinvocationPolicy: "Never",
      mutations: [{ patchType, [field]: { expression } }],
      ...more,
    });
    const answer = await create(s, { a: "1" });
    return answer.code === 201 ? JSON.stringify(answer.json.data) : said(answer);
  };
  assert.equal(await mutate("Object{data: {'b': object.data.a}}"), '{"a":"1","b":"1"}');
  assert.equal(
    await mutate("[JSONPatch{op: 'test', path: '/data/a', value: '2'}, JSONPatch{op: 'remove', path: '/data/a'}]"),
    '{"a":"1"}',
  );
  assert.equal(
    await mutate("Object{zz: 1}"),
    "403 error applying patch: failed to convert patch object to typed object: .zz: field not declared in schema",
  );
  assert.equal(await mutate("Object{zz: 1}", { failurePolicy: "Ignore" }), '{"a":"1"}');
  assert.match(
    await mutate("Object{data: Object.nope{a: 'x'}}"),
    /^403 type mismatch: unexpected type name "Object.nope"/,
  );
  assert.equal(await mutate("[JSONPatch{op: 'bogus', path: '/a'}]"), "403 JSON Patch: Unexpected kind: bogus");
  assert.match(
    await mutate("[JSONPatch{op: 'replace', path: '/data', value: 5}]"),
    /^500 Internal error occurred: json: cannot unmarshal number/,
  );
});

test("a policy that wants to is applied again when a later one changed the object", async () => {
  await using s = await startServer();
  const adding = (key: string, value: string) => ({
    reinvocationPolicy: "IfNeeded",
    mutations: [
      { patchType: "ApplyConfiguration", applyConfiguration: { expression: `Object{data: {'${key}': ${value}}}` } },
    ],
  });
  await have(s, "mutating", "a", adding("seen", "has(object.data) && has(object.data.late) ? 'yes' : 'no'"));
  await have(s, "mutating", "b", adding("late", "'1'"));
  assert.deepEqual((await create(s, {})).json.data, { late: "1", seen: "yes" });
});

test("match conditions of webhooks are evaluated before the webhook is called", async () => {
  await using s = await startServer();
  await s.call("POST", `${admission}/validatingwebhookconfigurations`, {
    metadata: { name: "w" },
    webhooks: [
      {
        name: "a.b.c",
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        clientConfig: { url: "https://127.0.0.1:1" },
        rules: ofConfigMaps.resourceRules,
        matchConditions: [{ name: "x", expression: "object.data.call == 'yes'" }],
      },
    ],
  });
  await s.call("GET", `${admission}/validatingwebhookconfigurations`);
  assert.equal((await create(s, { call: "no" })).code, 201);
  assert.equal((await create(s, { call: "yes" })).code, 500);
  assert.match(
    said(await create(s, {})),
    /^403 configmaps "m\d+" is forbidden: expression 'object.data.call == 'yes'' resulted in error: no such key: data$/,
  );
});

test("what configures policies is never asked about", async () => {
  await using s = await startServer();
  const everything = {
    resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"] }],
  };
  await have(s, "validating", "all", { matchConstraints: everything, validations: [{ expression: "false" }] });
  assert.equal((await create(s, {})).code, 422);
  assert.equal((await s.call("DELETE", `${admission}/validatingadmissionpolicies/all`)).code, 200);
  await s.call("GET", `${admission}/validatingadmissionpolicies`);
  assert.equal((await create(s, {})).code, 201);
});
