/** An erasure of a reference in a process that dies. */
import { expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { newMortalVault } from '../durability/server.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { thirdPartyTrust } from '../helpers/third-party.ts';

const REFERENCE = 'customer';
const POLL_MS = 5;

test('in a server that is killed in the middle: its repeat deletes and counts the rest', async () => {
  const mortal = newMortalVault((await thirdPartyTrust()).authority.pem);
  try {
    await mortal.start();
    const { client, raw } = mortal;
    await client.key('u');
    const items = Array.from({ length: 300 }, (_, n) => ({ data: { number: `${n}` }, reference: REFERENCE }));
    const given = { passphrase: PASSPHRASE, body: { user: 'u', items } };
    expect((await client.send('POST', '/vault/batch', given)).outcome).toBe('200');
    const query = { user: 'u', reference: REFERENCE };
    const erase = async (): Promise<number> => {
      const answer = await mortal.client.send('DELETE', '/vault', { query: { ...query, all: true } });
      expect(answer.outcome).toBe('200');
      return answer.as<{ deleted: number }>().deleted;
    };
    const listed = async (): Promise<number> => {
      const answer = await mortal.client.send('GET', '/vault', { query: { ...query, limit: -1 } });
      return answer.as<Record<string, unknown[]>>()['u']?.length ?? 0;
    };
    const itemsOf = (bucket: string): Promise<string[]> => raw.keys(`{*.${bucket}}i*`);
    const used = async (): Promise<number> => {
      const { items: billed } = await mortal.client.sdk.admin.billing();
      return billed.find(({ operation }) => operation === 'delete')?.count ?? 0;
    };
    // A bucket that a deletion of the key has closed is left for later: the erasure cannot end before the server does.
    const held = await itemsOf('7');
    const owner = /^\{([^.]+)\./.exec(held[0] ?? '')?.[1] ?? '';
    const fence = redisKeys.fence({ kid: owner, number: 7 });
    await raw.hset(fence, 'c', Date.now() + 600_000);
    const broken = erase().then(
      () => 'done',
      () => 'broken',
    );
    while ((await used()) < items.length - held.length) {
      await Bun.sleep(POLL_MS);
    }
    await mortal.kill();
    expect(await broken).toBe('broken');
    await mortal.start();
    await raw.hdel(fence, 'c');
    expect(await listed()).toBe(held.length);
    expect(await erase()).toBe(held.length);
    expect(await listed()).toBe(0);
    expect(await itemsOf('*')).toEqual([]);
    expect(await used()).toBe(items.length);
  } finally {
    await mortal.remove();
  }
});
