import { afterAll, describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { keyOf } from '../../server/redis/records/name.ts';
import { RECORD_KINDS } from '../../server/redis/records/registry.ts';
import { entriesOf, lineOf } from '../helpers/audit.ts';
import { basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

/** Patterns of every key but those of security logs. */
const ALL_BUT_LOGS = Object.entries(RECORD_KINDS)
  .filter(([kind]) => kind !== 'auditChain' && kind !== 'auditChains')
  .map(([, { name }]) =>
    name.scope === 'bucket'
      ? `~${name.make({ kid: '*', number: 0 }, '*').replace('.0}', '.*}')}`
      : `~${keyOf(name, '*', '*')}${name.scope === 'id' ? '*' : ''}`,
  );

// What could not be written waits in one server, in its order.
const vault = await openTestVault({ alone: true });
const account = await vault.account();
await account.key('u');
const token = await account.store('u', { number: '4111111111111111' });
afterAll(() => vault.close());

async function whileDenied(work: () => Promise<void>): Promise<void> {
  await vault.raw.acl('SETUSER', 'default', 'resetkeys', ...ALL_BUT_LOGS);
  try {
    await work();
  } finally {
    await vault.raw.acl('SETUSER', 'default', 'allkeys');
  }
}

describe('while entries cannot be written', () => {
  test('nothing that needs one is answered with anything but 503; what has a log of its own goes on', async () => {
    const rule = { query: { id: 'r1' }, body: [{ name: 'noop' }] };
    const before = await entriesOf(account, { limit: 1 });
    await whileDenied(async () => {
      for (const [method, path, sending] of [
        ['POST', '/key', { body: { user: 'v' } }],
        ['PUT', '/key', { body: { user: 'u', passphrase: 'wrong-passphrase' } }],
        ['POST', '/rule', rule],
        ['GET', '/audit', {}],
        ['GET', '/vault/metadata', { query: { user: 'u', token } }],
        ['GET', '/vault', { query: { user: 'u', token: 'nothing' }, passphrase: PASSPHRASE }],
        ['GET', '/whoami', { headers: { authorization: basicAuth(account.name, 'wrong') } }],
      ] as const) {
        const answer = await account.send(method, path, sending);
        expect(`${method} ${path} ${answer.outcome}`).toBe(`${method} ${path} 503 store_unavailable`);
        expect(answer.headers.get('retry-after')).toBe('2');
        expect(Object.keys(answer.as<object>()).sort()).toEqual(['code', 'error', 'request_id']);
      }
      const opened = { query: { user: 'u', token }, passphrase: PASSPHRASE };
      expect((await account.send('GET', '/vault', opened)).outcome).toBe('200');
      const stored = { query: { user: 'u' }, passphrase: PASSPHRASE, body: { number: '4242424242424242' } };
      expect((await account.send('POST', '/vault', stored)).outcome).toBe('200');
    });
    // What was done meanwhile is not forgotten: it comes with the next entry, once, in its order.
    await entriesOf(account, { limit: 1 });
    await vault.opened.services.audit.flush();
    const after = Number(before[0]?.id) + 1;
    const late = (await entriesOf(account)).filter(({ id }) => Number(id) > after).reverse();
    expect(late.map(lineOf).slice(0, 5)).toEqual([
      'key.create success key/v',
      'key.change passphrase_wrong key/u',
      'rule.create success rule/r1',
      `item.log success item/u/${token}`,
      'item.decrypt token_not_found item/u/nothing',
    ]);
    expect(new Set(late.map(({ request_id }) => request_id)).size).toBe(late.length);
    expect((await vault.opened.services.auditVerifier.verify(account.aid)).fault).toBeUndefined();
  });

  test('deletions work on a Redis that is full, and are noted', async () => {
    await account.send('POST', '/rule', { query: { id: 'full' }, body: [{ name: 'noop' }] });
    await vault.raw.config('SET', 'maxmemory', '1mb');
    try {
      await vault.opened.services.audit.record({
        ...{ aid: account.aid, action: 'rule.delete', outcome: 'success', actor: 'operator' },
        ...{ ip: '', userAgent: '', requestId: '', object: 'rule/full' },
      });
    } finally {
      await vault.raw.config('SET', 'maxmemory', '0');
    }
    expect((await entriesOf(account, { limit: 1 })).map(lineOf)).toEqual(['rule.delete success rule/full']);
  });
});

describe('a reply that is lost', () => {
  /** Lets the next appends happen, and loses their replies. */
  const loseReplies = (times: number): void => {
    const { auditStore } = vault.opened.stores;
    const append = auditStore.append.bind(auditStore);
    let left = times;
    Reflect.set(auditStore, 'append', async (...given: Parameters<typeof append>) => {
      const reply = await append(...given);
      if (left === 0) {
        Reflect.set(auditStore, 'append', append);
        return reply;
      }
      left -= 1;
      throw new VaultError('store_unavailable');
    });
  };

  test.each([1, 3])('%p times is an entry once', async (times) => {
    const second = await vault.secondServer();
    const other = account.via(second.handle);
    const ids = Array.from({ length: 6 }, (_, i) => `lost-${times}-${i}`);
    loseReplies(times);
    for (const id of ids) {
      await account.send('POST', '/rule', { query: { id }, body: [{ name: 'noop' }] });
      await other.send('POST', '/rule', { query: { id: `${id}-other` }, body: [{ name: 'noop' }] });
    }
    await vault.opened.services.audit.flush();
    const entries = await entriesOf(account, { action: 'rule.create' });
    const objects = entries
      .map(({ object = '' }) => object)
      .filter((object) => object.includes(`lost-${times}`));
    expect(objects.sort()).toEqual(ids.flatMap((id) => [`rule/${id}`, `rule/${id}-other`]).sort());
    expect((await vault.opened.services.auditVerifier.verify(account.aid)).fault).toBeUndefined();
    await second.close();
  });
});
