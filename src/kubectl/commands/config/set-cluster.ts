import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import { entryIn, startingConfig, writeEntry } from "./config-files.ts";
import { unexpectedArguments } from "./contexts.ts";

export const setCluster = command({
  use: "set-cluster NAME [--server=server] [--certificate-authority=path/to/certificate/authority] [--insecure-skip-tls-verify=true] [--tls-server-name=example.com]",
  flags: {
    "certificate-authority": { type: "string", help: "Path to the certificate of the authority." },
    "embed-certs": { type: "bool", help: "Put the certificate itself into the kubeconfig." },
    "insecure-skip-tls-verify": { type: "bool", help: "Take any certificate of the server." },
    "proxy-url": { type: "string", help: "The proxy through which the server is reached." },
    server: { type: "string", help: "The address of the server." },
    "tls-server-name": { type: "string", help: "Name that the server's certificate must be for." },
  },
  async run(session, args, flags, { changed }) {
    const [name = ""] = args;
    if (args.length !== 1) throw unexpectedArguments(session, args, "set-cluster NAME");
    const {
      "certificate-authority": authority,
      "insecure-skip-tls-verify": isInsecure,
      "embed-certs": isEmbedded,
    } = flags;
    if (name === "") throw new KubectlError("you must specify a non-empty cluster name");
    if (isInsecure && authority !== "")
      throw new KubectlError("you cannot specify a certificate authority and insecure mode at the same time");
    const path = resolve(session.io.cwd, authority);
    if (isEmbedded) {
      if (authority === "") throw new KubectlError("you must specify a --certificate-authority to embed");
      if (!statSync(path, { throwIfNoEntry: false }))
        throw new KubectlError(
          `could not stat certificate-authority file ${authority}: stat ${authority}: no such file or directory`,
        );
    }
    const cluster: Record<string, unknown> = {
      server: "",
      ...entryIn(await startingConfig(session), "clusters", name),
    };
    const put = (field: string, value: unknown) => {
      if (value === undefined || value === "" || value === false) delete cluster[field];
      else cluster[field] = value;
    };
    if (changed.has("server")) {
      cluster.server = flags.server;
      put("tls-server-name", undefined);
    }
    if (changed.has("tls-server-name")) put("tls-server-name", flags["tls-server-name"]);
    // It has to be said each time, or it is taken back: as upstream does it.
    put("insecure-skip-tls-verify", isInsecure);
    if (isInsecure || changed.has("certificate-authority")) {
      put("certificate-authority-data", isEmbedded ? readFileSync(path).toString("base64") : undefined);
      put("certificate-authority", isEmbedded || isInsecure || authority === "" ? undefined : path);
    }
    if (changed.has("proxy-url")) put("proxy-url", flags["proxy-url"]);
    await writeEntry(session, "clusters", name, cluster);
    session.print(`Cluster ${JSON.stringify(name)} set.`);
  },
});
