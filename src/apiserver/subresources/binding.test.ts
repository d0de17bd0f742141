import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing.ts";

const pods = "/api/v1/namespaces/default/pods";

test("a binding is refused that would make a pod which nobody could update", async () => {
  await using s = await testServer();
  await s.call("POST", pods, { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } });
  const bind = async (binding: object, metadata: object = {}) => {
    const body = { metadata: { name: "p", ...metadata }, target: { kind: "Node", name: "n" }, ...binding };
    const { code, json } = await s.call("POST", `${pods}/p/binding`, body);
    return code === 201 ? code : `${code} ${json.message}`;
  };
  assert.equal(await bind({ target: {} }), "500 target.name: Required value");
  assert.equal(
    await bind({ target: { kind: "Pod", name: "n" } }),
    '500 target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
  );
  assert.match(
    String(await bind({ target: { name: "Not A Node/../x" } })),
    /^422 Binding "p" is invalid: target\.name:/,
  );
  assert.match(String(await bind({}, { labels: { "a b": "c" } })), /^422 .* metadata\.labels: Invalid value: "a b"/);
  const large = { annotations: { a: "x".repeat(300_000) } };
  assert.match(String(await bind({}, large)), /^422 .* metadata\.annotations: Too long/);
  assert.equal((await s.call("GET", `${pods}/p`)).json.spec.nodeName, undefined);
  assert.equal(await bind({}, { labels: { a: "b" } }), 201);
  assert.equal((await s.call("GET", `${pods}/p`)).json.metadata.labels?.a, "b");
});
