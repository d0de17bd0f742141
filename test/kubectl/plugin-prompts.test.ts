// A credential plugin that asks the person, in a real terminal.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ourProgram } from "./ours.ts";
import { PseudoTerminal } from "./pseudo-terminal.ts";

/** Asks for a password as such programs do: on the standard error, without showing what is typed. */
const plugin = `#!/bin/sh
stty -echo; printf 'Password: ' >&2; read word; stty echo; echo >&2
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"'$word'"}}'
`;

test("a credential plugin asks the person in the terminal, who can answer or leave", async () => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-plugin-"));
  using ours = ourProgram();
  const tokens: (string | undefined)[] = [];
  const server = createServer((asked, answer) => {
    tokens.push(asked.headers.authorization);
    answer.end("hello\n");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  try {
    writeFileSync(join(folder, "ask"), plugin, { mode: 0o755 });
    const exec = {
      command: join(folder, "ask"),
      apiVersion: "client.authentication.k8s.io/v1",
      interactiveMode: "Always",
    };
    const { port } = server.address() as AddressInfo;
    const config = {
      clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: "u", user: { exec } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    };
    writeFileSync(join(folder, "config"), JSON.stringify(config));
    const env = { PATH: process.env.PATH, HOME: folder, KUBECONFIG: join(folder, "config"), TERM: "xterm" };
    // The shell lives on, so that the terminal can be looked at.
    const line = `trap : INT; ${ours.path} get --raw /x; echo "code $?"; exec sleep 1000`;

    using answered = new PseudoTerminal("sh", ["-c", line], env);
    await answered.until(/Password: /);
    answered.type("s3cret\r");
    await answered.until(/hello\r\ncode 0/);
    assert.deepEqual(tokens, ["Bearer s3cret"]);
    assert.doesNotMatch(answered.shown, /s3cret/);
    assert.equal(await answered.echoes(), true);

    using left = new PseudoTerminal("sh", ["-c", line], env);
    await left.until(/Password: /);
    left.type("\x03");
    await left.until(/code 130/);
    assert.equal(tokens.length, 1, "nothing was asked of the server");
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
