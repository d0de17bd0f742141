// The way out of the machine for nodes and pods: the host forwards their packets in its own name (see packet-rules.ts). That takes
// forwarding, which is a setting of the whole host. Where it was off, a table of the host's network notes that it was a cluster that
// turned it on, with a chain for each cluster that needs it; like the setting, the table is gone after a boot. The last cluster turns
// it off again, unless somebody else translates addresses by then, as Docker does, and so has come to rely on it.
//
// An accept in a table of ours does not undo a drop in another's (each table's verdict counts), so on a host whose own rules drop what
// is forwarded, as Docker's do, the way out needs a rule there: see `egressNotes` in conflicts.ts.
import type { LocalNetwork } from "./local-network.ts";
import type { NetworkStep } from "./network-step.ts";

/** No cluster has a table of this name: theirs begin with `knarr-`. */
const noteTable = "knarr_forwarding";

interface Forwarder {
  readonly options: Pick<LocalNetwork["options"], "cluster">;
}

export const egressStep = ({ options }: Forwarder): NetworkStep => inTurn(turnOn, options.cluster);

export const egressStepDown = ({ options }: Forwarder): NetworkStep => inTurn(turnOff, options.cluster);

/** A lock, so that clusters that come and go at the same time do not see each other half done. Only root can take it. */
const inTurn = (script: string, cluster: string): NetworkStep => ({
  command: ["sh", "-c", `${takeTurn}\n${script}`, cluster],
});

const takeTurn = "set -e; umask 077; exec 9> /run/knarr-forwarding.lock; flock 9; cd /proc/sys/net/ipv4";

const turnOn = `if [ "$(cat ip_forward)" = 0 ]; then nft add table ip ${noteTable}; echo 1 > ip_forward; fi
if nft list table ip ${noteTable} > /dev/null 2>&1; then nft add chain ip ${noteTable} "of-$0"; fi`;

const turnOff = `nft delete chain ip ${noteTable} "of-$0" 2> /dev/null || true
note=$(nft list table ip ${noteTable} 2> /dev/null) || exit 0
case "$note" in *"chain of-"*) exit 0 ;; esac
nft delete table ip ${noteTable}
nft list chains | grep -q "type nat hook postrouting" && exit 0
grep -qsx nat /proc/net/ip_tables_names && exit 0
echo 0 > ip_forward`;
