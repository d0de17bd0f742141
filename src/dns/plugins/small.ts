// The plugins that take a few lines: what they do stands next to their names.
import { explain } from "#base/errors.ts";
import { CorefileError, durationMs } from "../corefile.ts";
import { codes, shuffled } from "../message.ts";
import { emptyReply, type PluginType } from "../plugin.ts";

const nameOf = (code: number): string =>
  code === 0 ? "NOERROR" : (Object.entries(codes).find(([, value]) => value === code)?.[0] ?? String(code));

/** Logs what could not be answered. */
export const errorsPlugin: PluginType = {
  name: "errors",
  make: (_, { log }) => ({
    name: "errors",
    async handle(query, next) {
      try {
        return await next(query);
      } catch (error) {
        log.error("query failed", { name: query.name, type: query.type, error: explain(error) });
        return emptyReply(codes.SERVFAIL);
      }
    },
  }),
};

/** Logs each query. */
export const logPlugin: PluginType = {
  name: "log",
  make: (_, { log, clock }) => ({
    name: "log",
    async handle(query, next) {
      const begun = clock.elapsed();
      const reply = await next(query);
      const { client, transport, type, name } = query;
      const ms = Math.round(clock.elapsed() - begun);
      log.info("query", { client, transport, type, name, code: nameOf(reply.code), ms });
      return reply;
    },
  }),
};

/** Tells addresses in another order each time, since clients tend to take the first. */
export const loadbalancePlugin: PluginType = {
  name: "loadbalance",
  make: (_, { random }) => ({
    name: "loadbalance",
    async handle(query, next) {
      const reply = await next(query);
      const isAddress = ({ type }: { readonly type: string }) => type === "A" || type === "AAAA";
      const addresses = reply.answers.filter(isAddress);
      if (addresses.length < 2 || reply.raw) return reply;
      const others = reply.answers.filter((record) => !isAddress(record));
      return { ...reply, answers: [...others, ...shuffled(addresses, random)] };
    },
  }),
};

/** Ends the program when a query of its own comes back to it: then it would forward each query to itself for ever. */
export const loopPlugin: PluginType = {
  name: "loop",
  make(_, { zones, random, lookup, fatal, log }) {
    const zone = zones[0] === "." ? "" : `.${zones[0]}`;
    const probe = `${random.below(2 ** 31)}.${random.below(2 ** 31)}${zone}`;
    let times = 0;
    return {
      name: "loop",
      async handle(query, next) {
        if (query.name === probe && query.type === "HINFO" && ++times > 2)
          fatal(new Error(`Loop detected for zone ${JSON.stringify(zones[0])}: queries that are forwarded come back`));
        return next(query);
      },
      started() {
        const packet = { type: "query" as const, flags: 0x100, questions: [{ name: probe, type: "HINFO" as const }] };
        lookup({ name: probe, type: "HINFO", transport: "udp", packet, client: "" }).catch((error: unknown) =>
          log.debug("nobody answers the probe for loops", { error: explain(error) }),
        );
      },
    };
  },
};

/** Plugins that are about the program, not about queries: it reads their directives itself. */
const ofProgram = (name: string, check: PluginType["make"] = () => ({ name })): PluginType => ({ name, make: check });

export const reloadPlugin = ofProgram("reload", ({ args, line }) => {
  for (const text of args) if (text !== "off") durationMs(text, line);
  return { name: "reload" };
});
export const healthPlugin = ofProgram("health", ({ body }) => {
  for (const option of body) {
    if (option.name !== "lameduck") throw new CorefileError(option.line, `unknown property '${option.name}'`);
    durationMs(option.args[0] ?? "", option.line);
  }
  return { name: "health" };
});
export const readyPlugin = ofProgram("ready");

/** Counts queries and answers. */
export const prometheusPlugin: PluginType = {
  name: "prometheus",
  make(_, { metrics, zones, clock }) {
    const labels = ["server", "zone", "view"];
    const requests = metrics.counter({
      name: "coredns_dns_requests_total",
      help: "Counter of DNS requests made per zone, protocol and family.",
      labels: [...labels, "proto", "family", "type"],
    });
    const responses = metrics.counter({
      name: "coredns_dns_responses_total",
      help: "Counter of response status codes.",
      labels: [...labels, "rcode", "plugin"],
    });
    const durations = metrics.histogram({
      name: "coredns_dns_request_duration_seconds",
      help: "Histogram of the time (in seconds) each request took per zone.",
      labels,
      buckets: [
        0.00025, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096,
        8.192,
      ],
    });
    const [zone = "."] = zones;
    const server = `dns://${zone}`;
    /** A label for each type would let clients make as many series as they like. */
    const counted = new Set(["A", "AAAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT"]);
    return {
      name: "prometheus",
      async handle(query, next) {
        const begun = clock.elapsed();
        const family = query.client.includes(":") ? "2" : "1";
        const type = counted.has(query.type) ? query.type : "other";
        requests.of(server, zone, "", query.transport, family, type).add();
        const reply = await next(query);
        responses.of(server, zone, "", nameOf(reply.code), "").add();
        durations.of(server, zone, "").observe((clock.elapsed() - begun) / 1000);
        return reply;
      },
    };
  },
};
