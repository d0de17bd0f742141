// The answers of /healthz, /livez and /readyz: all checks together, or one.
import { type HttpRequest, type HttpResponse, nosniff, uncached } from "#wire/http.ts";
import type { HealthMetrics } from "./health-metrics.ts";

export interface HealthCheck {
  readonly name: string;
  /** Who is not ready need not be ill: only `/readyz` asks. */
  readonly isOfReadiness?: boolean;
  /** What `/readyz` does not ask. */
  readonly isOfLife?: boolean;
  /** What `/livez` does not ask: it would not be better after a restart. */
  readonly isNotOfLife?: boolean;
  /** Resolves when all is well, rejects with the reason if not. */
  check(signal: AbortSignal): Promise<void>;
}

/** The answer to a path below `kind`, which is "healthz", "livez" or "readyz"; undefined if there is no such check. */
export async function health(
  request: HttpRequest,
  kind: string,
  only: string | undefined,
  all: readonly HealthCheck[],
  slis?: HealthMetrics,
): Promise<HttpResponse | undefined> {
  const checks = checksOf(kind, all);
  if (only === undefined) return together(request, kind, checks, slis);
  const check = checks.find(({ name }) => name === only);
  return check && alone(check, request.signal);
}

/** What is asked of at one of the three paths. */
export const checksOf = (kind: string, all: readonly HealthCheck[]): readonly HealthCheck[] =>
  all.filter(({ isOfReadiness, isOfLife, isNotOfLife }) =>
    kind === "readyz" ? !isOfLife : !isOfReadiness && !(isNotOfLife && kind === "livez"),
  );

/** Everybody may ask this, so it does not say why something failed. */
async function together(
  { query, signal }: HttpRequest,
  kind: string,
  checks: readonly HealthCheck[],
  slis: HealthMetrics | undefined,
): Promise<HttpResponse> {
  const excluded = new Set(query.getAll("exclude"));
  const lines: string[] = [];
  let failed = 0;
  for (const { name, check } of checks) {
    if (excluded.delete(name)) {
      lines.push(`[+]${name} excluded: ok`);
      continue;
    }
    const isWell = await check(signal).then(
      () => true,
      () => false,
    );
    slis?.note(kind, name, isWell);
    lines.push(isWell ? `[+]${name} ok` : `[-]${name} failed: reason withheld`);
    if (!isWell) failed++;
  }
  if (excluded.size > 0) {
    const unknown = [...excluded].sort().map((name) => JSON.stringify(name));
    lines.push(`warn: some health checks cannot be excluded: no matches for ${unknown.join(",")}`);
  }
  if (failed > 0) return plainText(500, `${lines.join("\n")}\n${kind} check failed\n`);
  return plainText(200, query.has("verbose") ? `${lines.join("\n")}\n${kind} check passed\n` : "ok");
}

const alone = ({ check }: HealthCheck, signal: AbortSignal): Promise<HttpResponse> =>
  check(signal).then(
    () => ({ code: 200, headers: textHeaders, body: "ok" }),
    (error) => plainText(500, `internal server error: ${error instanceof Error ? error.message : String(error)}\n`),
  );

const textHeaders = { "content-type": "text/plain; charset=utf-8", ...uncached };

const plainText = (code: number, body: string): HttpResponse => ({
  code,
  headers: { ...textHeaders, ...nosniff },
  body,
});
