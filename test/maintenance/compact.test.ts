import { expect, test } from 'bun:test';
import { appendOnlyText } from '../helpers/canaries.ts';
import { commandJson, runCommand } from '../helpers/command.ts';
import { createCapture, createRetrieve } from '../helpers/endpoints.ts';
import { startTestRedis } from '../helpers/redis.ts';
import { openTestVault } from '../helpers/vault.ts';

interface Compacted {
  readonly nodes: readonly { readonly before: number; readonly after: number }[];
}

test('behind a deletion and a compaction the bytes of wraps and items are in no file of Redis', async () => {
  const redis = await startTestRedis({ durable: true });
  const vault = await openTestVault({ redis });
  try {
    const account = await vault.account();
    const [gone, kept] = ['gone', 'kept'];
    await account.key(gone);
    await account.key(kept);
    const tokens = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        account.store(gone, `{"number":"${at}","text":"${'x'.repeat(200)}"}`),
      ),
    );
    const keptToken = await account.store(kept, '{"number":"1"}');
    const capture = await createCapture(account, gone);
    const retrieve = await createRetrieve(account, gone, { token: tokens[0] });
    const kid = await vault.kidOf(account, gone);
    const records: Buffer[] = [];
    records.push((await vault.raw.getBuffer(`{a:${account.aid}}k:${gone}`)) ?? Buffer.alloc(0));
    for (const { unique_id: id } of [capture, retrieve]) {
      records.push((await vault.raw.hgetBuffer(`{e:${id}}`, 'w')) ?? Buffer.alloc(0));
    }
    for (const name of await vault.raw.keys(`{${kid}.*}i*`)) {
      records.push((await vault.raw.hgetBuffer(name, 'c')) ?? Buffer.alloc(0));
    }
    expect(records).toHaveLength(53);
    expect(Math.min(...records.map(({ length }) => length))).toBeGreaterThan(40);
    const found = (): number => {
      const files = appendOnlyText(redis);
      return records.filter((record) => files.includes(record.toString('latin1'))).length;
    };
    expect(found()).toBe(53);
    await account.send('DELETE', '/key', { query: { user: gone, safe: false } });
    expect(found()).toBe(53);
    const { nodes } = await commandJson<Compacted>(vault, 'compact');
    expect(found()).toBe(0);
    for (const { before, after } of nodes) {
      expect(after).toBeLessThan(before);
    }
    expect(await account.open(kept, keptToken)).toBe('{"number":"1"}');
  } finally {
    await vault.close();
    await redis.stop();
  }
}, 60_000);

test('a Redis without an append-only file is told apart', async () => {
  const vault = await openTestVault();
  expect(await runCommand(['compact'], { vault })).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/ has no append-only file; there is nothing to rewrite\.\n$/),
  });
  await vault.close();
});
