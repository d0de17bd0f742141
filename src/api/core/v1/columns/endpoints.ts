import type { EndpointSubset } from "../endpoints.ts";

const most = 3;

/** `10.0.0.1:80,10.0.0.2:80 + 2 more...`. */
export function formatEndpoints(subsets: readonly EndpointSubset[] = []): string {
  if (subsets.length === 0) return "<none>";
  const all = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) =>
          addresses.map(({ ip }) => (ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`)),
        ),
  );
  const shown = all.slice(0, most).join(",");
  return all.length > most ? `${shown} + ${all.length - most} more...` : shown;
}
