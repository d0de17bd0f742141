// An unmodified kubectl with each kind of credential that a kubeconfig can name. Tokens of other issuers, and those of a credential
// plugin, are in token-issuers.test.ts.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { makeAuthority, makeCertificate } from "#cluster/certificate-maker.ts";
import { ServerProcess } from "../harness.ts";
import { findKubectls } from "../kubectls.ts";

const kubectl = findKubectls().at(-1)?.path;
const skip = kubectl === undefined ? "there is no kubectl" : false;
const dayMs = 24 * 60 * 60 * 1000;
const lasting = (fromDays: number, toDays: number) => ({
  notBefore: new Date(Date.now() + fromDays * dayMs),
  notAfter: new Date(Date.now() + toDays * dayMs),
});

const pemOf = (user: Readonly<Record<"client-certificate-data" | "client-key-data", string>>) => ({
  clientCertificateData: Buffer.from(user["client-certificate-data"], "base64").toString(),
  clientKeyData: Buffer.from(user["client-key-data"], "base64").toString(),
});

const bootstrapToken = (id: string, expiration: Date): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Secret",
    type: "bootstrap.kubernetes.io/token",
    metadata: { name: `bootstrap-token-${id}`, namespace: "kube-system" },
    stringData: {
      "token-id": id,
      "token-secret": "0123456789abcdef",
      "usage-bootstrap-authentication": "true",
      expiration: expiration.toISOString(),
    },
  });

test("kubectl is whom its certificate, token, password or plugin says, and whom it may act as", { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-credentials-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = (name: string, content: string, mode = 0o600): string => {
    writeFileSync(join(folder, name), content, { mode });
    return join(folder, name);
  };
  await using server = await ServerProcess.start({
    flags: [
      "--enable-bootstrap-token-auth",
      `--token-auth-file=${file("tokens.csv", 'token-of-tom,tom,7,"t1,t2"\n')}`,
      `--basic-auth-file=${file("passwords.csv", 'pass word,bea,8,"b1"\n')}`,
    ],
  });
  const own = {
    cert: readFileSync(server.file("ca.crt"), "utf8"),
    key: readFileSync(join(server.folder, "pki/ca.key"), "utf8"),
  };
  const stranger = makeAuthority(lasting(-1, 1));
  const certificate = (authority = own, validity = lasting(-1, 1)) => {
    const { cert, key } = makeCertificate(authority, { commonName: "cleo", organizations: ["c1"] }, validity);
    const base64 = (pem: string) => Buffer.from(pem).toString("base64");
    return { "client-certificate-data": base64(cert), "client-key-data": base64(key) };
  };
  const credential = { apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential" };
  let plugins = 0;
  const plugin = (status: object) => {
    const said = JSON.stringify({ ...credential, status });
    const command = file(`plugin-${++plugins}.sh`, `#!/bin/sh\ncat <<'END'\n${said}\nEND\n`, 0o700);
    return { exec: { apiVersion: credential.apiVersion, command, interactiveMode: "Never" } };
  };
  const admin = { "client-certificate": server.file("admin.crt"), "client-key": server.file("admin.key") };
  const run = async (user: object, args: readonly string[], input = ""): Promise<readonly [string, string]> => {
    const config = {
      clusters: [{ name: "a", cluster: { server: server.url, "certificate-authority": server.file("ca.crt") } }],
      users: [{ name: "a", user }],
      contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
      "current-context": "a",
    };
    const path = file("kubeconfig", JSON.stringify(config));
    const child = spawn(kubectl ?? "", args, { env: { KUBECONFIG: path, HOME: folder } });
    child.stdin.end(input);
    const [said, failed] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    return [said, failed];
  };
  const whoami = async (user: object): Promise<string> => {
    const [said, failed] = await run(user, ["auth", "whoami", "-o=json"]);
    if (said === "") return failed.trim();
    const { username, uid, groups = [], extra = {} } = JSON.parse(said).status.userInfo;
    const more = Object.keys(extra).filter((key) => !key.endsWith("credential-id"));
    return [username, uid, `[${groups.join(" ")}]`, ...more].filter(Boolean).join(" ");
  };
  for (const [id, until] of [
    ["abcdef", lasting(0, 1).notAfter],
    ["fedcba", lasting(0, -1).notAfter],
  ] as const)
    assert.deepEqual(await run(admin, ["create", "-f", "-"], bootstrapToken(id, until)), [
      `secret/bootstrap-token-${id} created\n`,
      "",
    ]);
  const unauthorized = /Unauthorized|must be logged in/;
  const table: Readonly<Record<string, readonly [object, string | RegExp]>> = {
    "a certificate": [certificate(), "cleo [c1 system:authenticated]"],
    "a certificate of another authority": [certificate(stranger), unauthorized],
    "a certificate that has ended": [certificate(own, lasting(-2, -1)), unauthorized],
    "a certificate that is not good yet": [certificate(own, lasting(1, 2)), unauthorized],
    "a token": [{ token: "token-of-tom" }, "tom 7 [t1 t2 system:authenticated]"],
    "a token file": [{ tokenFile: file("token", "token-of-tom\n") }, "tom 7 [t1 t2 system:authenticated]"],
    "a token of nobody": [{ token: "token-of-nobody" }, unauthorized],
    "a password": [{ username: "bea", password: "pass word" }, "bea 8 [b1 system:authenticated]"],
    "a wrong password": [{ username: "bea", password: "pass" }, unauthorized],
    "a plugin with a token": [plugin({ token: "token-of-tom" }), "tom 7 [t1 t2 system:authenticated]"],
    "a plugin with a certificate": [plugin(pemOf(certificate())), "cleo [c1 system:authenticated]"],
    "a plugin with a certificate of another authority": [plugin(pemOf(certificate(stranger))), unauthorized],
    "a token by which nodes join": [
      { token: "abcdef.0123456789abcdef" },
      "system:bootstrap:abcdef [system:bootstrappers system:authenticated]",
    ],
    "a token by which nodes joined": [{ token: "fedcba.0123456789abcdef" }, unauthorized],
    "acting as someone with a UID and more": [
      { ...admin, as: "ann", "as-uid": "42", "as-groups": ["g"], "as-user-extra": { scopes: ["x"] } },
      "ann 42 [g system:authenticated] scopes",
    ],
    "acting as someone without the right to": [{ token: "token-of-tom", as: "ann" }, /do not have permission/],
  };
  for (const [what, [user, expected]] of Object.entries(table)) {
    const said = await whoami(user);
    if (typeof expected === "string") assert.equal(said, expected, what);
    else assert.match(said, expected, what);
  }
});
