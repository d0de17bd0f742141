/** The member of an etcd that runs on this machine, as the settings of its cluster remember it. */
export interface EtcdMemberSettings {
  readonly name: string;
  /** At which other members and API servers reach it. */
  readonly address: string;
  readonly clientPort: number;
  readonly peerPort: number;
  /** The members that it begins with, as etcd's --initial-cluster has them; empty if it is the first. */
  readonly initialCluster: string;
  /** Whether it has yet to become a full member. */
  readonly isLearner: boolean;
  /** Of all members that are known, `https://host:port`. */
  readonly endpoints: readonly string[];
}

const hostOf = (address: string): string => (address.includes(":") ? `[${address}]` : address);

export const clientUrl = ({ address, clientPort }: Pick<EtcdMemberSettings, "address" | "clientPort">): string =>
  `https://${hostOf(address)}:${clientPort}`;

export const peerUrl = ({ address, peerPort }: Pick<EtcdMemberSettings, "address" | "peerPort">): string =>
  `https://${hostOf(address)}:${peerPort}`;
