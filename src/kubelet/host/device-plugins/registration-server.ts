// The socket at which device plugins announce themselves to the kubelet.
// Upstream: pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go.
import { chmod, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { explain } from "#base/errors.ts";
import { devicePluginRpcs } from "./messages.ts";

export interface PluginAnnouncement {
  readonly version: string;
  /** The name of the plugin's socket in the same folder. */
  readonly endpoint: string;
  readonly resourceName: string;
}

const socketName = "kubelet.sock";

/** Plugins of before come again when they see that the socket is a new one; what they left is removed. `keep` are files of ours. */
export async function serveRegistration(
  folder: string,
  keep: readonly string[],
  register: (announcement: PluginAnnouncement) => Promise<void>,
): Promise<() => void> {
  await mkdir(folder, { recursive: true, mode: 0o750 });
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (!entry.isDirectory() && !keep.includes(entry.name)) await rm(join(folder, entry.name), { force: true });
  const { path, request, response } = devicePluginRpcs.register;
  const server = new Server();
  server.addService(
    {
      register: {
        path,
        requestStream: false,
        responseStream: false,
        requestSerialize: () => Buffer.alloc(0),
        requestDeserialize: (bytes: Buffer) => request.decode(bytes),
        responseSerialize: () => Buffer.from(response.encode({})),
        responseDeserialize: () => undefined,
      },
    },
    {
      register: (
        call: { readonly request: PluginAnnouncement },
        callback: (error: { readonly code: number; readonly details: string } | null, value?: object) => void,
      ) => {
        register(call.request).then(
          () => callback(null, {}),
          (error: unknown) => callback({ code: invalidArgument, details: explain(error) }),
        );
      },
    },
  );
  const socket = join(folder, socketName);
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
  await chmod(socket, 0o600);
  return () => server.forceShutdown();
}

const invalidArgument = 3;
