// Where the kubeconfig names no authority, those of the system are believed, as a real kubectl does.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { systemClock } from "#base/clock.ts";
import { Certificates } from "#cluster/certificates.ts";
import { ourProgram } from "./ours.ts";

const run = promisify(execFile);

test("a server is believed whose authority the system trusts, and no other", async () => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-authorities-"));
  using ours = ourProgram();
  new Certificates(folder, systemClock).issue("server", { commonName: "server", hosts: ["127.0.0.1"] });
  const [cert, key] = ["server.crt", "server.key"].map((name) => readFileSync(join(folder, name)));
  const server = createServer({ cert, key }, (_asked, answer) => answer.end("hello\n"));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  try {
    const { port } = server.address() as AddressInfo;
    const line = ["get", "--raw", "/x", "--server", `https://127.0.0.1:${port}`];
    const env = { PATH: process.env.PATH, HOME: folder, SSL_CERT_DIR: folder };
    const trusted = await run(ours.path, line, { env: { ...env, SSL_CERT_FILE: join(folder, "ca.crt") } });
    assert.equal(trusted.stdout, "hello\n");
    const refused = run(ours.path, line, { env: { PATH: env.PATH, HOME: folder } });
    await assert.rejects(refused, ({ stderr }: { stderr: string }) => /certificate/.test(stderr));
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
