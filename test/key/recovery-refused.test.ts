/** Shares that open nothing, whatever is wrong with them: the vault does not say what. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { Scope } from '../../server/core/scopes.ts';
import { type AccountClient, type Answer, PASSPHRASE, refusalOf } from '../helpers/clients.ts';
import { clientOf, makeCredential } from '../helpers/credentials.ts';
import { openTestVault } from '../helpers/vault.ts';
import { change, createCustodians, make, NEW, recoverable, recoverWith, sharesOf } from './recovery-steps.ts';

const FAILURES_MAX = 3;

const vault = await openTestVault({ authFailuresMax: 0 });
const [account, custodians] = await Promise.all([vault.account(), createCustodians(4)]);
const shares = await recoverable(account, 'u', custodians, 3);
afterAll(async () => {
  for (const { close } of custodians) {
    close();
  }
  await vault.close();
});

function share(n: number): string {
  return shares[n] ?? '';
}

/** A share with another part at a place, and a checksum that fits. */
function forged(text: string, at: number, part: string): string {
  const parts = text.trim().split('.').slice(0, -1);
  parts[at] = part;
  const body = new TextEncoder().encode(parts.join('.'));
  const label = new TextEncoder().encode('cardvault share');
  const field = (bytes: Uint8Array): Buffer => {
    const head = Buffer.from([1, 0, 0, 0, 0]);
    head.writeUInt32BE(bytes.length, 1);
    return Buffer.concat([head, bytes]);
  };
  const encoded = Buffer.concat([field(label), field(body)]);
  const sum = new Bun.CryptoHasher('sha256').update(encoded).digest().subarray(0, 8).toString('base64url');
  return `${parts.join('.')}.${sum}`;
}

/** Another share's own bytes and place, as this share's. */
function bytesOf(text: string): string {
  return text.split('.')[7] ?? '';
}

/** The same bytes with another first one. */
function otherBytes(text: string): string {
  return `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`;
}

async function refused(presented: readonly string[], user = 'u'): Promise<Answer> {
  const answer = await recoverWith(account, user, presented);
  expect(answer.outcome).toBe('403 recovery_refused');
  return answer;
}

test('a share says what it is for', () => {
  const [version, env, aid, kid, id, threshold, number, bytes, sum, ...rest] = share(1).trim().split('.');
  expect([version, env, aid, threshold, number, rest.length]).toEqual([
    'vss1',
    'staging',
    account.aid,
    '3',
    '2',
    0,
  ]);
  expect([kid?.length, id?.length, bytes?.length, sum?.length]).toEqual([22, 22, 44, 11]);
  expect(forged(share(1), 5, '3')).toBe(share(1).trim());
});

describe('refused, all alike', () => {
  const cases: readonly (readonly [string, () => Promise<readonly string[]> | readonly string[]])[] = [
    ['too few', () => [share(0), share(1)]],
    ['the same twice', () => [share(0), share(1), share(1)]],
    ['enough and one of them twice', () => [share(0), share(1), share(2), share(2)]],
    ['enough and one more that is none', () => [share(0), share(1), share(2), 'x']],
    ['of another recovery of the same key', () => otherRecovery()],
    ['of another key', () => recoverable(account, 'other-key', custodians, 3)],
    [
      'of the same name in another account',
      async () => recoverable(await vault.account(), 'u', custodians, 3),
    ],
    ['for another environment', () => shares.map((text) => forged(text, 1, 'production'))],
    ['for another threshold', () => shares.map((text) => forged(text, 5, '2'))],
    ['with other bytes', () => [share(0), share(1), forged(share(2), 7, otherBytes(bytesOf(share(2))))]],
    ['the sealed texts', async () => sealed()],
  ];

  async function otherRecovery(): Promise<string[]> {
    const old = await recoverable(account, 'mixed', custodians, 3);
    await make(account, 'mixed', custodians, 3);
    const fresh = await sharesOf(account, 'mixed', custodians);
    expect((await recoverWith(account, 'mixed', [...fresh.slice(0, 2), old[2] ?? ''])).outcome).toBe(
      '403 recovery_refused',
    );
    return old;
  }
  async function sealed(): Promise<string[]> {
    const { shares: texts } = await account.sdk.keys.recovery.read({ user: 'u' });
    return texts.map(({ share: text }) => text);
  }

  test.each(cases)('%s', async (name, presented) => {
    const texts = await presented();
    const user = name.startsWith('of another recovery') ? 'mixed' : 'u';
    expect(refusalOf(await refused(texts, user))).toEqual(refusalOf(await refused(['nothing'])));
  });

  test('also where there is no recovery', async () => {
    await account.key('none');
    expect(refusalOf(await refused(shares, 'none'))).toEqual(refusalOf(await refused(['nothing'])));
  });

  test('and nothing has changed', async () => {
    expect((await change(account, 'u', PASSPHRASE, PASSPHRASE)).outcome).toBe('200');
  });
});

describe('a new passphrase', () => {
  test.each(['1234567', 'x'.repeat(4_097)])('follows the rules of a new key', async (wrong) => {
    const answer = await recoverWith(account, 'u', shares, wrong);
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'body.new_passphrase']);
  });
});

describe('credentials', () => {
  async function credential(scopes: readonly Scope[], keys?: readonly string[]): Promise<AccountClient> {
    const made = await makeCredential(account, scopes, keys === undefined ? {} : { keys });
    return clientOf(vault.handle, account, made);
  }

  test('with key:write may do all but read, with key:read nothing else, and without either nothing', async () => {
    await account.key('scoped');
    const writer = await credential(['key:write']);
    const reader = await credential(['key:read']);
    const neither = await credential(['vault:read']);
    const elsewhere = await credential(['key:read', 'key:write'], ['x']);
    const recipients = custodians.map(({ recipient }) => recipient);
    const passphrase = PASSPHRASE;
    const outcomesOf = async (client: Pick<AccountClient, 'send'>): Promise<string[]> => {
      const user = 'scoped';
      const made = await client.send('POST', '/key/recovery', {
        body: { user, passphrase, recipients, threshold: 2 },
      });
      const shown = await client.send('GET', '/key/recovery', { query: { user } });
      const used = await client.send('POST', '/key/recover', { body: { user, shares: ['x'] } });
      const removed = await client.send('DELETE', '/key/recovery', { body: { user, passphrase } });
      return [made, shown, used, removed].map(({ outcome }) => outcome);
    };
    const no = '403 not_allowed';
    expect(await outcomesOf(writer)).toEqual(['200', no, '403 recovery_refused', '200']);
    await make(account, 'scoped', custodians, 2);
    expect(await outcomesOf(reader)).toEqual([no, '200', no, no]);
    expect(await outcomesOf(neither)).toEqual(Array(4).fill(no));
    expect(await outcomesOf(elsewhere)).toEqual(Array(4).fill(no));
    const stranger = {
      send: (method: string, path: string, sending = {}) =>
        account.send(method, path, { ...sending, headers: { authorization: '' } }),
    };
    expect(await outcomesOf(stranger)).toEqual(Array(4).fill('401 unauthenticated'));
  });
});

test('guessing at shares locks the source, right or wrong, and leaves the passphrase and other sources alone', async () => {
  const limited = await openTestVault({ authFailuresMax: FAILURES_MAX, trustedProxies: ['127.0.0.0/8'] });
  const owner = await limited.account();
  const known = await recoverable(owner, 'u', custodians, 3);
  const from = async (ip: string, presented: readonly string[]): Promise<string> => {
    const body = { user: 'u', shares: presented, new_passphrase: NEW };
    return (await owner.send('POST', '/key/recover', { body, headers: { 'x-forwarded-for': ip } })).outcome;
  };
  const [guesser, other] = ['198.51.100.1', '203.0.113.1'];
  for (let n = 0; n < FAILURES_MAX; n++) {
    expect(await from(guesser, [`guess ${n}`])).toBe('403 recovery_refused');
  }
  expect(await from(guesser, known)).toBe('429 too_many_failures');
  const headers = { 'x-forwarded-for': guesser };
  const body = { user: 'u', passphrase: PASSPHRASE, new_passphrase: PASSPHRASE };
  expect((await owner.send('PUT', '/key', { body, headers })).outcome).toBe('200');
  expect(await from(other, known)).toBe('200');
  await limited.close();
});
