// The flags that every command takes (upstream: cli-runtime/pkg/genericclioptions/config_flags.go).
import type { FlagDeclarations, ParsedFlags } from "./flags.ts";

export const globalFlags = {
  as: { type: "string", help: "User to act as; may be a service account." },
  "as-group": { type: "stringArray", help: "Group to act as a member of; can be repeated." },
  "as-uid": { type: "string", help: "UID to act with." },
  "as-user-extra": { type: "stringArray", help: "Extra of the user to act as, as key=value; can be repeated." },
  "cache-dir": { type: "string", help: "Folder of what is remembered of servers; defaults to $HOME/.kube/cache." },
  "certificate-authority": {
    type: "string",
    help: "File with the certificate of the authority that the server must be known to.",
  },
  "client-certificate": { type: "string", help: "File with the client certificate." },
  "client-key": { type: "string", help: "File with the key of the client certificate." },
  cluster: { type: "string", help: "Cluster of the kubeconfig to use." },
  context: { type: "string", help: "Context of the kubeconfig to use." },
  "disable-compression": { type: "bool", help: "Do not ask the server to compress what it sends." },
  "insecure-skip-tls-verify": {
    type: "bool",
    help: "Take any certificate of the server. This makes the connection insecure.",
  },
  kubeconfig: { type: "string", help: "The kubeconfig file to use." },
  kuberc: { type: "string", help: "The file of preferences to use; off for none." },
  "log-flush-frequency": { type: "duration", default: "5s", help: "Longest time between log flushes." },
  "match-server-version": { type: "bool", help: "Refuse to go on if the server has another version." },
  namespace: { type: "string", short: "n", help: "The namespace of this request." },
  password: { type: "string", help: "Password for basic authentication." },
  profile: { type: "string", default: "none", help: "Which profile to record." },
  "profile-output": { type: "string", default: "profile.pprof", help: "Where to write the profile." },
  "request-timeout": {
    type: "string",
    default: "0",
    help: "How long one request may take, such as 1s or 2m; 0 means no limit.",
  },
  server: { type: "string", short: "s", help: "Address and port of the API server." },
  "tls-server-name": { type: "string", help: "Name that the server's certificate must be for; defaults to its host." },
  token: { type: "string", help: "Bearer token to authenticate with." },
  user: { type: "string", help: "User of the kubeconfig to use." },
  username: { type: "string", help: "User name for basic authentication." },
  v: { type: "int", short: "v", help: "How much to log." },
  vmodule: { type: "string", help: "Patterns of files with log levels of their own, comma-separated." },
  "warnings-as-errors": { type: "bool", help: "Fail if the server sent warnings." },
} as const satisfies FlagDeclarations;

export type GlobalFlags = ParsedFlags<typeof globalFlags>;
