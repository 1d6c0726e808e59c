import { afterAll, expect, test } from 'bun:test';
import { PASSPHRASE } from '../helpers/clients.ts';
import { makeCredential } from '../helpers/credentials.ts';
import { openTestVault } from '../helpers/vault.ts';

const vault = await openTestVault({ workers: 2, alone: true });
afterAll(() => vault.close());

const CREDENTIALS = 1_000;
const LISTS = 16;

test('long lists of one account reject no request of another', async () => {
  const [long, other] = [await vault.account(), await vault.account()];
  await other.key('k');
  const token = await other.store('k', { number: '4111111111111111' });
  for (let made = 0; made < CREDENTIALS; made += 50) {
    await Promise.all(Array.from({ length: 50 }, () => makeCredential(long, ['vault:read'])));
  }
  const read = async () => {
    const query = { user: 'k', token };
    return (await other.send('GET', '/vault', { query, passphrase: PASSPHRASE })).outcome;
  };
  let isOver = false;
  const lists = Promise.all(
    Array.from({ length: LISTS }, async () => {
      const answers = [await long.send('GET', '/credential'), await long.send('GET', '/credential')];
      return answers.map(({ outcome, json }) => `${outcome} ${Array.isArray(json) ? json.length : ''}`);
    }),
  ).finally(() => {
    isOver = true;
  });
  const reads = new Set<string>();
  while (!isOver) {
    reads.add(await read());
    await Bun.sleep(1);
  }
  expect([...reads]).toEqual(['200']);
  expect(new Set((await lists).flat())).toEqual(new Set([`200 ${CREDENTIALS}`]));
});
