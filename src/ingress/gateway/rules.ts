// The rules of a route: what each matches, and the backend it has.
import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";
import type { ProxyBackend } from "../proxy-state.ts";
import type { RouteOptions, ServerProtocol } from "../route-options.ts";
import type { KindedRoute } from "./attachment.ts";
import { ruleOptions } from "./filters.ts";
import type { GrpcRouteRule, HttpRouteRule, RouteRule } from "./kinds.ts";
import { grpcMatch, httpMatch, type RankedMatch } from "./matches.ts";
import { type BackendSources, type ReferenceProblem, resolveBackends } from "./references.ts";

export interface RouteRuleResult {
  readonly id: string;
  readonly backend: ProxyBackend;
  readonly matches: readonly RankedMatch[];
}

const protocols: Readonly<Record<KindedRoute["kind"], ServerProtocol>> = {
  HTTPRoute: "HTTP",
  GRPCRoute: "GRPC",
  TLSRoute: "TCP",
};

/** Throws UnsupportedValue. */
export function rulesOf(
  { kind, route }: KindedRoute,
  sources: BackendSources,
): { readonly rules: readonly RouteRuleResult[]; readonly problems: readonly ReferenceProblem[] } {
  const { namespace = "", name } = route.metadata;
  const problems: ReferenceProblem[] = [];
  const rules = (route.spec.rules ?? []).map((rule, i) => {
    const protocol = protocols[kind];
    const matches = matchesOf(kind, rule);
    const said = ruleOptions(rule, protocol);
    const { servers, problems: wrong } = resolveBackends(
      { kind, namespace },
      rule.backendRefs ?? [],
      protocol,
      sources,
    );
    problems.push(...wrong);
    // A rule that leads nowhere is a mistake of its author.
    const isEmpty = servers.size === 0 && !said.location && protocol !== "TCP";
    const options: RouteOptions = isEmpty ? { ...said, answer: 500 } : said;
    // The name says all that only a configuration can change of it; weights and servers can change without one.
    const hash = hex(sha256(JSON.stringify(options))).slice(0, 10);
    return { id: `${namespace}_${name}_${kind[0]}${i}_${hash}`, backend: { options, servers }, matches };
  });
  return { rules, problems };
}

/** Rules have the shape of their kind: the API server has checked it. */
function matchesOf(kind: KindedRoute["kind"], rule: RouteRule): readonly RankedMatch[] {
  if (kind === "TLSRoute") return [httpMatch({})];
  if (kind === "HTTPRoute") return orEverything((rule as HttpRouteRule).matches).map(httpMatch);
  return orEverything((rule as GrpcRouteRule).matches).map(grpcMatch);
}

const orEverything = <M extends object>(matches: readonly M[] | undefined): readonly (M | Record<never, never>)[] =>
  matches && matches.length > 0 ? matches : [{}];
