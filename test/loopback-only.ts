// Runs a program in a network namespace of its own that has nothing but a loopback device. For servers that are given objects which
// tell them to connect to others (webhooks, API services, nodes, endpoints): no packet of theirs can leave.

/** The command that runs a program so. Where nobody is root, a user namespace makes it one. */
export const loopbackOnly = (program: string, args: readonly string[]): readonly [string, readonly string[]] => [
  "unshare",
  [
    "--net",
    ...(process.getuid?.() === 0 ? [] : ["--map-root-user"]),
    ...["sh", "-c", 'ip link set lo up && exec "$0" "$@"', program, ...args],
  ],
];
