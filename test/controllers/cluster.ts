// An API server in memory and controllers on a clock that stands still, for tests of controllers together.
import assert from "node:assert/strict";
import { catalog } from "#api/catalog.ts";
import { type TestOptions, type TestServer, testServer, testUser } from "#apiserver/testing.ts";
import { turn } from "#base/breathe.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { Client, type Transport } from "#client/client.ts";
import type { Controller } from "#client/controller.ts";
import { fixedDiscovery } from "#client/discovery.ts";
import { Informers } from "#client/informers.ts";
import { runControllers } from "#client/run-controllers.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { User } from "#wire/api-request.ts";

export interface TestCluster extends AsyncDisposable {
  readonly server: TestServer;
  readonly client: Client;
  /** Lets everything that is ready happen, until `isDone`; fails if it does not come to that. */
  until(isDone: () => Promise<boolean>, steps?: number): Promise<void>;
}

export interface TestClusterOptions {
  readonly controllers: readonly Controller<AnyKind>[];
  /** What else runs, given what controllers are given. */
  readonly components?: (context: ComponentContext) => readonly Component[];
  readonly transport?: (server: TestServer) => Transport;
  /** Has these controllers write as service accounts of kube-system, by the controllers' names, with no more than upstream's roles allow. */
  readonly serviceAccounts?: Readonly<Record<string, string>>;
  readonly server?: TestOptions;
}

export interface ComponentContext {
  readonly client: Client;
  /** The client of a controller, by what `serviceAccounts` says of it. */
  readonly clientFor: (controller: string) => Client;
  readonly informers: Informers;
  readonly server: TestServer;
}

export const discovery = fixedDiscovery(catalog);

export async function testCluster(options: TestClusterOptions): Promise<TestCluster> {
  const { controllers, components, transport, serviceAccounts } = options;
  const server = await testServer({
    ...(serviceAccounts && { bootstrapPolicy: true, authorizers: ({ rbac }) => [rbac] }),
    ...options.server,
  });
  const stop = new AbortController();
  const clientWith = (through: Transport, signal: AbortSignal, user = testUser) =>
    new Client({ transport: through, user, userAgent: "test/1", signal });
  const through = transport?.(server) ?? server.server.request;
  const theirs = clientWith(through, stop.signal);
  const clientFor = (controller: string) => {
    const account = serviceAccounts?.[controller];
    return account === undefined ? theirs : clientWith(through, stop.signal, serviceAccount(account));
  };
  const context = { client: theirs, clock: server.clock, random: seededRandom(7), log: silentLog };
  const informers = new Informers(context);
  const others = components?.({ client: theirs, clientFor, informers, server }) ?? [];
  const done = supervise(
    [informers, runControllers(controllers, { ...context, informers, clientFor }), ...others],
    stop.signal,
  );
  return {
    server,
    client: clientWith(server.server.request, new AbortController().signal),
    async until(isDone, steps = 300) {
      for (let i = 0; i < steps; i++) {
        for (let j = 0; j < 5; j++) await turn();
        if (await isDone()) return;
        await server.clock.advance(100);
      }
      assert.fail("it did not come to that");
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test is over"));
      await done;
      await server[Symbol.asyncDispose]();
    },
  };
}

const serviceAccount = (name: string): User => ({
  name: `system:serviceaccount:kube-system:${name}`,
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
});
