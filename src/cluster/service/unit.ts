// The systemd unit that brings a cluster, or the node of a machine that has joined one, back when its machine boots.
import { join } from "node:path";
import type { ClusterFolder } from "../local/cluster-folder.ts";

export const unitFolder = "/etc/systemd/system";
export const unitName = ({ name }: ClusterFolder): string => `knarr-${name}.service`;
export const unitPath = (place: ClusterFolder): string => join(unitFolder, unitName(place));

/** Spaces and percent signs mean something to systemd. */
const word = (text: string): string =>
  `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%")}"`;

/**
 * A start that is over and yet remains: knarr goes on by itself, and so do its containers when it ends or is upgraded. That is why systemd
 * must not end what it started in its own way.
 */
export function unitText(place: ClusterFolder, command: readonly string[]): string {
  const where = [`--name=${place.name}`, `--data-dir=${place.root}`];
  const line = (...args: readonly string[]) => [...command, ...args, ...where].map(word).join(" ");
  return `# Made by "knarr service install"; "knarr service uninstall" removes it.
[Unit]
Description=Knarr cluster ${place.name.replaceAll("%", "%%")}
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
KillMode=process
Delegate=yes
TimeoutStartSec=600
TimeoutStopSec=120
LimitNOFILE=1048576
TasksMax=infinity
ExecStart=${line("start", "--no-install", "--timeout=9m")}
ExecStop=${line("stop")}

[Install]
WantedBy=multi-user.target
`;
}
