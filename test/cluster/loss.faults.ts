import { afterEach, expect, test } from 'bun:test';
import { type Answer, PASSPHRASE } from '../helpers/clients.ts';
import type { TestCluster } from '../helpers/cluster.ts';
import { openRaw } from '../helpers/redis.ts';
import { masterOfItems, type Place, startPlace } from './failure.ts';
import { until } from './load.ts';

const ITEMS = 60;

let place: Place | undefined;
afterEach(async () => {
  await place?.stop();
  place = undefined;
}, 60_000);

/** The names in Redis of items by their tokens; a token whose item is not there has none. */
async function namesOf(cluster: TestCluster, tokens: readonly string[]): Promise<Map<string, string>> {
  const raw = openRaw(cluster);
  const names = await raw.keys('*i*');
  raw.disconnect();
  const ends = tokens.map((token) => [token, names.find((name) => name.endsWith(`}i${token}`))] as const);
  return new Map(ends.flatMap(([token, name]) => (name === undefined ? [] : [[token, name]])));
}

test('what a promoted replica had not been sent is lost, to the item, and nothing else', async () => {
  place = await startPlace(true, { VAULT_REDIS_WAIT: '0' });
  const { cluster, both } = place;
  const victim = await masterOfItems(cluster);
  const replica = cluster.replicaOf(victim);
  // Numbers of their own: one that is stored again has the token that it had.
  const store = (first: number): Promise<string[]> =>
    Promise.all(Array.from({ length: ITEMS }, (_, n) => both.client.store('u', { number: `${first + n}` })));
  const open = async (token: string): Promise<Answer> => {
    const sending = { query: { user: 'u', token }, passphrase: PASSPHRASE };
    for (;;) {
      const answer = await both.client.send('GET', '/vault', sending);
      if (answer.status !== 503) {
        return answer;
      }
      await Bun.sleep(20);
    }
  };

  const early = await store(1_000);
  const copied = async (): Promise<boolean> => (await victim.command('WAIT 1 1000')) === ':1';
  await until(copied);
  // From here on the replica hears nothing any more, and its master goes on.
  await replica?.signal('SIGSTOP');
  const isAlone = async (): Promise<boolean> =>
    /connected_slaves:0/.test(await victim.command('INFO replication'));
  await until(async () => {
    await victim.command('CLIENT KILL TYPE replica');
    return isAlone();
  });
  const late = await store(2_000);
  const before = await namesOf(cluster, late);
  const owners = await Promise.all(
    late.map(async (token) => [token, await cluster.masterOf(before.get(token) ?? '')] as const),
  );
  const unsent = owners.flatMap(([token, owner]) => (owner === victim ? [token] : []));

  expect(await isAlone()).toBe(true);
  await victim.signal('SIGKILL');
  await replica?.signal('SIGCONT');
  await until(async () => (await replica?.command('ROLE'))?.includes('master') === true);
  const all = [...early, ...late];
  const answers = await Promise.all(all.map(open));
  const gone = all.filter((_, n) => answers[n]?.outcome !== '200');
  const after = await namesOf(cluster, all);

  console.log(
    `WAIT=0: ${all.length} acknowledged, ${unsent.length} of them never sent to the replica that took over, ` +
      `${gone.length} gone`,
  );
  expect(before.size).toBe(late.length);
  expect(unsent.length).toBeGreaterThan(0);
  expect(gone.toSorted()).toEqual(unsent.toSorted());
  expect(all.filter((token) => !after.has(token)).toSorted()).toEqual(unsent.toSorted());
  expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['200', '404 token_not_found']));
}, 60_000);
