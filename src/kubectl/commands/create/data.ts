// Upstream: kubectl/pkg/cmd/create/create_configmap.go, create_secret.go and create_secret_docker.go.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { textToBase64, toBase64 } from "#base/base64.ts";
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import type { FlagDeclarations } from "../../flags.ts";
import { filled } from "../../generators/generated.ts";
import { keyValues } from "../../generators/key-values.ts";
import { goJson } from "../../go/json.ts";
import { nameHash } from "../../kustomize/name-hash.ts";
import { metadataOf } from "../../resources/resource-info.ts";
import type { KubeObject } from "../../rest/client.ts";
import { createGenerated, generatorFlags } from "../create-generated.ts";
import { oneName } from "./one-name.ts";

const hashedFlags = {
  ...generatorFlags,
  "append-hash": { type: "bool", help: "Add a hash of what it holds to its name." },
} as const satisfies FlagDeclarations;

/** The object with a name that changes with what it holds. */
function hashed(object: KubeObject, isWanted: boolean): KubeObject {
  if (!isWanted) return object;
  const { kind, data, binaryData, type } = object;
  const { name } = metadataOf(object);
  const more = kind === "Secret" ? { type: type ?? "" } : { ...(binaryData !== undefined && { binaryData }) };
  return { ...object, metadata: { name: `${name}-${nameHash({ kind, name, data: data ?? {}, ...more })}` } };
}

const sourceFlags = {
  "from-env-file": { type: "stringSlice", help: "File of lines key=value; can be repeated." },
  "from-file": { type: "stringSlice", help: "File or folder whose content becomes keys, as [key=]path." },
  "from-literal": { type: "stringArray", help: "A key and its value, as key=value; can be repeated." },
} as const satisfies FlagDeclarations;

interface SourceRequest {
  readonly "from-env-file": readonly string[];
  readonly "from-file": readonly string[];
  readonly "from-literal": readonly string[];
}

function sourcesOf(name: string, flags: SourceRequest) {
  const [envFiles, files, literals] = [flags["from-env-file"], flags["from-file"], flags["from-literal"]];
  if (envFiles.length > 0 && (files.length > 0 || literals.length > 0))
    throw new KubectlError("from-env-file cannot be combined with from-file or from-literal");
  return { name, envFiles, files, literals };
}

export const createConfigMap = command({
  use: "configmap NAME [--from-file=[key=]source] [--from-literal=key1=value1] [--dry-run=server|client|none]",
  flags: { ...hashedFlags, ...sourceFlags },
  run: async (session, _, flags, invocation) => {
    const name = oneName(invocation);
    const data: Record<string, string> = {};
    const binaryData: Record<string, string> = {};
    for (const [key, bytes] of keyValues(sourcesOf(name, flags), "ConfigMap", session.io)) {
      const text = utf8Text(bytes);
      if (text === undefined) binaryData[key] = toBase64(bytes);
      else data[key] = text;
    }
    const object = {
      apiVersion: "v1",
      ...filled("binaryData", binaryData),
      ...filled("data", data),
      kind: "ConfigMap",
      metadata: { name },
    };
    await createGenerated(session, flags, hashed(object, flags["append-hash"]), "failed to create configmap: ");
  },
});

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined; // bytes that are no text are kept as such
  }
}

const secretOf = (name: string, type: string, values: ReadonlyMap<string, Uint8Array>): KubeObject => ({
  apiVersion: "v1",
  ...filled("data", Object.fromEntries([...values].map(([key, bytes]) => [key, toBase64(bytes)]))),
  kind: "Secret",
  metadata: { name },
  ...filled("type", type),
});

const generic = command({
  use: "generic NAME [--type=string] [--from-file=[key=]source] [--from-literal=key1=value1]",
  flags: { ...hashedFlags, ...sourceFlags, type: { type: "string", help: "The type of the secret." } },
  run: async (session, _, flags, invocation) => {
    const name = oneName(invocation);
    const object = secretOf(name, flags.type, keyValues(sourcesOf(name, flags), "Secret", session.io));
    await createGenerated(session, flags, hashed(object, flags["append-hash"]), "failed to create secret ");
  },
});

const tls = command({
  use: "tls NAME --cert=path/to/cert/file --key=path/to/key/file",
  flags: {
    ...hashedFlags,
    cert: { type: "string", help: "File of the certificate, in PEM." },
    key: { type: "string", help: "File of its private key, in PEM." },
  },
  run: async (session, _, flags, invocation) => {
    const name = oneName(invocation);
    if (flags.key === "" || flags.cert === "") throw new KubectlError("key and cert must be specified");
    for (const file of [flags.cert, flags.key])
      if (!existsSync(resolve(session.io.cwd, file)))
        throw new KubectlError(`Cannot read file ${file}, open ${file}: no such file or directory`);
    const files = [`tls.crt=${flags.cert}`, `tls.key=${flags.key}`];
    const values = keyValues({ name, files, literals: [], envFiles: [] }, "Secret", session.io);
    const object = hashed(secretOf(name, "kubernetes.io/tls", values), flags["append-hash"]);
    await createGenerated(session, flags, object, "failed to create secret ");
  },
});

const dockerRegistry = command({
  use: "docker-registry NAME --docker-username=user --docker-password=password --docker-email=email [--docker-server=string]",
  flags: {
    ...hashedFlags,
    "docker-email": { type: "string", help: "E-mail address for the registry." },
    "docker-password": { type: "string", help: "Password for the registry." },
    "docker-server": { type: "string", default: "https://index.docker.io/v1/", help: "Where the registry is." },
    "docker-username": { type: "string", help: "User of the registry." },
    "from-file": { type: "stringSlice", help: "File with the settings of docker." },
  },
  run: async (session, _, flags, invocation) => {
    const name = oneName(invocation);
    const values =
      flags["from-file"].length > 0 ? dockerFile(name, flags["from-file"], session.io) : dockerLogin(flags);
    const object = secretOf(name, "kubernetes.io/dockerconfigjson", values);
    await createGenerated(session, flags, hashed(object, flags["append-hash"]), "failed to create secret ");
  },
});

function dockerFile(
  name: string,
  files: readonly string[],
  io: Parameters<typeof keyValues>[2],
): ReadonlyMap<string, Uint8Array> {
  const named = files.map((file) => (file.includes("=") ? file : `.dockerconfigjson=${file}`));
  return keyValues({ name, files: named, literals: [], envFiles: [] }, "Secret", io);
}

interface DockerLogin {
  readonly "docker-email": string;
  readonly "docker-password": string;
  readonly "docker-server": string;
  readonly "docker-username": string;
}

/** In the order of Go's struct, which is not that of the letters. */
function dockerLogin(flags: DockerLogin): ReadonlyMap<string, Uint8Array> {
  const { "docker-username": username, "docker-password": password, "docker-server": server } = flags;
  if (username === "" || password === "" || server === "")
    throw new KubectlError(
      "either --from-file or the combination of --docker-username, --docker-password and --docker-server is required",
    );
  const fields = {
    username,
    password,
    ...filled("email", flags["docker-email"]),
    auth: textToBase64(`${username}:${password}`),
  };
  const login = Object.entries(fields).map(([name, value]) => `${goJson(name)}:${goJson(value)}`);
  const text = `{"auths":{${goJson(server)}:{${login.join(",")}}}}`;
  return new Map([[".dockerconfigjson", new TextEncoder().encode(text)]]);
}

export const createSecret = command({
  use: "secret (docker-registry | generic | tls)",
  long: "Create a secret of one of three sorts.",
  subcommands: [
    { name: "docker-registry", short: "Create a secret for use with a registry", load: async () => dockerRegistry },
    { name: "generic", short: "Create a secret from files and literals", load: async () => generic },
    { name: "tls", short: "Create a secret of a certificate and its key", load: async () => tls },
  ],
});
