/** Two servers of a vault on a primary and its replica that Sentinel watches, while the primary fails. */
import { afterAll, describe, expect, test } from 'bun:test';
import { beginLoad } from '../cluster/failure.ts';
import { missing, recovery } from '../cluster/load.ts';
import { startServers } from '../cluster/servers.ts';
import { startTestGroup, until } from './group.ts';

const MS_MAX = 120_000;

/** What each test has started, the last first. */
const started: { readonly stop: () => Promise<unknown> }[] = [];
afterAll(async () => {
  for (const { stop } of started) {
    await stop();
  }
}, MS_MAX);

/** Starts one group with its servers at a time; after that all tests wait for their Sentinels side by side. */
let before: Promise<unknown> = Promise.resolve();
function startAll(wait: string) {
  const own = before.then(async () => {
    const group = await startTestGroup({ servers: 'of-the-servers' });
    started.unshift(group);
    const both = await startServers(group.url, { VAULT_REDIS_WAIT: wait });
    started.unshift(both);
    return { group, both };
  });
  before = own.catch(() => undefined);
  return own;
}

describe('a primary that fails under load', () => {
  test.concurrent.each([
    ['is killed', '1', 'SIGKILL'],
    ['is killed', '0', 'SIGKILL'],
    ['hangs, and comes back as a replica,', '1', 'SIGSTOP'],
  ] as const)(
    'and %s: with VAULT_REDIS_WAIT=%s its replica takes over without a start of the servers',
    async (_how, wait, signal) => {
      const { group, both } = await startAll(wait);
      const { primary, replica, primaryPort } = group;
      await both.client.key('u');
      const load = await beginLoad(both);
      const failedAt = performance.now();
      await primary.signal(signal);
      await until(async () => (await primaryPort()) === replica.port, 'a primary that was the replica');
      const tookOver = performance.now() - failedAt;
      const before = load.stored.size;
      // With replicas to wait for nothing is acknowledged before there is one again.
      await (signal === 'SIGKILL' ? primary.start() : primary.signal('SIGCONT'));
      await until(async () => load.stored.size > before, 'stores that are acknowledged again');
      await recovery(load, performance.now());
      const took = load.lastFailure() - failedAt;
      await load.end();
      const lost = await missing(both, load.stored);
      console.log(
        `${signal}, WAIT=${wait}: Sentinel took ${tookOver.toFixed(0)} ms; ${load.stored.size} acknowledged, ` +
          `${lost.length} lost, ${[...load.failed].join(' ')} failed, all well after ${took.toFixed(0)} ms`,
      );
      expect([...load.failed.keys()]).toEqual(['503 store_unavailable']);
      if (wait === '1') {
        expect(lost).toEqual([]);
      }
      expect(await Promise.all(both.servers.map((server) => server.ready()))).toEqual([200, 200]);
      // What is not needed any more takes no time from the others.
      await both.stop();
    },
    MS_MAX,
  );
});
