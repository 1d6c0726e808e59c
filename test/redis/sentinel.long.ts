/** Two servers of a vault on a primary and its replica that Sentinel watches, while the primary fails. */
import { afterEach, describe, expect, test } from 'bun:test';
import { beginLoad } from '../cluster/failure.ts';
import { missing, recovery } from '../cluster/load.ts';
import { type ClusterServers, startServers } from '../cluster/servers.ts';
import { startTestGroup, type TestGroup, until } from './group.ts';

let group: TestGroup | undefined;
let both: ClusterServers | undefined;
afterEach(async () => {
  await both?.stop();
  await group?.stop();
  [both, group] = [undefined, undefined];
}, 60_000);

describe('a primary that fails under load', () => {
  test.each([
    ['is killed', '1', 'SIGKILL'],
    ['is killed', '0', 'SIGKILL'],
    ['hangs, and comes back as a replica,', '1', 'SIGSTOP'],
  ] as const)(
    'and %s: with VAULT_REDIS_WAIT=%s its replica takes over without a start of the servers',
    async (_how, wait, signal) => {
      group = await startTestGroup({ servers: 'of-the-servers' });
      const { primary, replica, url, primaryPort } = group;
      both = await startServers(url, { VAULT_REDIS_WAIT: wait });
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
    },
    120_000,
  );
});
