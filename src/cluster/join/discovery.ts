// How a machine that knows an address, a token and the hash of a key finds out whom to believe. What it reads first may be anybody's: only
// if it is signed with the token, and if the authority in it has the key that was told, is the connection made that counts.
// Upstream: cmd/kubeadm/app/discovery/token/token.go and cmd/kubeadm/app/util/pubkeypin/pubkeypin.go.
import { createHash, createHmac, timingSafeEqual, X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type RequestOptions, request } from "node:https";
import type { Clock } from "#base/clock.ts";
import { explain, UsageError } from "#base/errors.ts";
import { parseJson } from "#schema/json.ts";
import { parseYaml } from "#wire/yaml/read.ts";
import type { JoinToken } from "./tokens.ts";

export interface DiscoveryOptions {
  readonly host: string;
  readonly port: number;
  readonly token: JoinToken;
  /** `sha256:HEX` of the public key of the authority; empty believes the token alone. */
  readonly caHashes: readonly string[];
  readonly clock: Clock;
}

export interface ClusterEndpoint {
  readonly server: string;
  /** In PEM. */
  readonly ca: string;
}

const path = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
const patienceMs = 10_000;
/** A token that was just made is not signed with yet. */
const signingMs = 20_000;
const lookMs = 500;
const longestAnswer = 1 << 20;
/** Certificates are good from an hour before they are made; tokens end by the clock of the cluster. */
const mostSkewMs = 5 * 60_000;

/** Throws an error that says plainly what is wrong, and what to do. */
export async function discoverCluster(options: DiscoveryOptions, signal: AbortSignal): Promise<ClusterEndpoint> {
  const { host, port, token, caHashes, clock } = options;
  const kubeconfig = await signedInfo(options, signal);
  const found = describedCluster(kubeconfig);
  if (!found) throw new Error(`${host}:${port} does not say where its API is, or whom to believe`);
  const { server, ca } = found;
  if (caHashes.length > 0 && !caHashes.includes(caHash(ca)))
    throw new Error(
      `the authority of the cluster at ${host}:${port} is not the one that --ca-hash names: it has ${caHash(ca)}. Somebody may stand between this machine and the cluster, or the hash is of another cluster; "knarr token create --print-join-command" prints the right one`,
    );
  const again = await read({ host, port, ca, servername: "" }, signal);
  if (infoIn(again, token).kubeconfig !== kubeconfig)
    throw new Error(
      `${host}:${port} says one thing to strangers and another to those who know it; nothing was changed`,
    );
  const skew = Math.abs(Date.parse(again.date ?? "") - clock.now());
  if (skew > mostSkewMs) throw skewed(skew);
  return { server, ca };
}

/** The cluster of a kubeconfig without names, as `cluster-info` has it. */
export function describedCluster(kubeconfig: string): ClusterEndpoint | undefined {
  const { clusters } = parseYaml(kubeconfig).value as {
    readonly clusters?: readonly { readonly cluster?: Readonly<Record<string, unknown>> }[];
  };
  const { server, "certificate-authority-data": data } = clusters?.[0]?.cluster ?? {};
  if (typeof server !== "string" || typeof data !== "string") return undefined;
  return { server, ca: Buffer.from(data, "base64").toString() };
}

const skewed = (ms: number): Error =>
  new Error(
    `the clock of this machine and that of the cluster differ by ${Math.round(ms / 60_000)} minutes; set it right first, or certificates will not be good here`,
  );

/** As kubeadm has it: of the public key of the authority. */
export function caHash(ca: string): string {
  const key = new X509Certificate(ca).publicKey.export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}

export function checkCaHash(given: string): string {
  if (!/^sha256:[0-9a-f]{64}$/.test(given))
    throw new UsageError(`--ca-hash: ${JSON.stringify(given)} is not sha256: and 64 hexadecimal digits`);
  return given;
}

async function signedInfo({ host, port, token, clock }: DiscoveryOptions, signal: AbortSignal): Promise<string> {
  for (const end = clock.elapsed() + signingMs; ; await clock.sleep(lookMs, signal)) {
    const answer = await read({ host, port, rejectUnauthorized: false }, signal);
    const skew = Math.abs(Date.parse(answer.date ?? "") - clock.now());
    if (skew > mostSkewMs) throw skewed(skew);
    const { kubeconfig, signature } = infoIn(answer, token);
    if (signature !== undefined && isSigned(kubeconfig, signature, token)) return kubeconfig;
    if (signature !== undefined)
      throw new Error(`the token is wrong: its first part is known at ${host}:${port}, its second is another`);
    if (clock.elapsed() > end)
      throw new Error(
        `the token ${token.id}.… is not known at ${host}:${port}: it has expired, was deleted, or is of another cluster; "knarr token create --print-join-command" makes another`,
      );
  }
}

interface InfoAnswer {
  readonly body: string;
  readonly code: number;
  readonly date: string | undefined;
  readonly at: string;
}

async function read(options: RequestOptions, signal: AbortSignal): Promise<InfoAnswer> {
  const at = `${options.host}:${options.port}`;
  try {
    const sent = request({ ...options, path, signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]) });
    sent.end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return { body: await bodyOf(response), code: response.statusCode ?? 0, date: response.headers.date, at };
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(`${at}: ${connectionWords(cause)}`, { cause });
  }
}

/** Whoever answers may be anybody: what is too long is not read to its end. */
async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > longestAnswer) throw new Error("the answer is too long to be that of a cluster");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** What went wrong, for somebody who sits at another machine. */
function connectionWords(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ECONNREFUSED")
    return "nobody listens there; does the cluster run, and was it started with --bind-address?";
  if (["EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT", "ABORT_ERR"].includes(code)) return "no answer comes from there";
  if (code === "CERT_NOT_YET_VALID" || code === "CERT_HAS_EXPIRED")
    return "the certificate that is shown there is not good now; are the clocks of both machines right?";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return "the certificate that is shown there is for other names; name this one with --apiserver-cert-extra-sans";
  return explain(error);
}

interface ClusterInfo {
  readonly kubeconfig: string;
  readonly signature: string | undefined;
}

function infoIn({ body, code, at }: InfoAnswer, { id }: JoinToken): ClusterInfo {
  if (code !== 200) throw new Error(`${at} answers ${code}: the cluster there does not let machines join`);
  const { data = {} } = parseJson(body).value as { readonly data?: Readonly<Record<string, string>> };
  return { kubeconfig: data.kubeconfig ?? "", signature: data[`jws-kubeconfig-${id}`] };
}

/** A JWS (RFC 7515) without its content, as the bootstrap signer makes it. */
function isSigned(content: string, signature: string, { id, secret }: JoinToken): boolean {
  const [head = "", , mac = ""] = signature.split(".");
  const { alg, kid } = parseJson(Buffer.from(head, "base64url").toString()).value as Readonly<Record<string, unknown>>;
  if (alg !== "HS256" || kid !== id) return false;
  const own = createHmac("sha256", secret)
    .update(`${head}.${Buffer.from(content).toString("base64url")}`)
    .digest();
  const given = Buffer.from(mac, "base64url");
  return own.length === given.length && timingSafeEqual(own, given);
}
