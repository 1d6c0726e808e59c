import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { ServiceSealer } from '../../workers/crypto/record/service-record.ts';
import type { AccountClient, Query } from '../helpers/clients.ts';
import { capture, createRetrieve, type MadeEndpoint, retrieve } from '../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { type Address, type Ended, ended, GONE, KINDS, type Kind, make, REFUSED } from './kinds.ts';

/** What the attacker of these tests has, beside write access to Redis. */
const MASTER_KEY = new Uint8Array(32).fill(13);
const sealer = new ServiceSealer('staging', 'k1', [['k1', MASTER_KEY]]);
const JSON_AT = 49;
const SECOND = 1_000;
const DAY = 86_400 * SECOND;

let now = Date.now();
let vault: TestVault;
let second: TestVault;
let account: AccountClient;
let masked: AccountClient;
let otherKid: string;
let token: string;
let outside: string;

const SHOWN = { number: '4111111111111111', holder: 'Ada Lovelace' };

beforeAll(async () => {
  vault = await openTestVault({ masterKey: MASTER_KEY, now: () => now, authFailuresMax: 0 });
  second = await vault.secondServer();
  account = await vault.account();
  masked = await vault.account({ unmasked: false });
  for (const client of [masked, account]) {
    await client.key('u');
    token = await client.store('u', SHOWN, { reference: 'inside' });
    outside = await client.store('u', { number: '4222222222222222' }, { reference: 'outside' });
    await client.send('POST', '/rule', { query: { id: 'hide' }, body: [HIDE] });
    await client.send('POST', '/rule', { query: { id: 'keep' }, body: [{ name: 'noop' }] });
  }
  await Promise.all([account.key('other'), account.key('ahead')]);
  otherKid = await vault.kidOf(account, 'other');
});
afterAll(async () => {
  await second.close();
  await vault.close();
});

const HIDE = {
  name: 'template',
  input_field: '*',
  output_field: '*',
  arguments: { template: '{"number":"{{number}}","hidden":true}' },
};

type Json = Record<string, unknown>;
function placeOf({ unique_id }: MadeEndpoint): string {
  return redisKeys.endpoint(unique_id);
}
async function readPolicy(client: AccountClient, made: MadeEndpoint) {
  const record = (await vault.raw.hgetBuffer(placeOf(made), 'p')) ?? Buffer.alloc(0);
  const plain = Buffer.from(sealer.open('record', client.aid, 'endpoint', [made.unique_id], record));
  const json = JSON.parse(plain.toString('utf8', JSON_AT)) as Json;
  return { record, head: plain.subarray(0, JSON_AT), text: plain.toString('utf8', JSON_AT), json };
}
function writePolicy(client: AccountClient, made: MadeEndpoint, head: Buffer, text: string) {
  const plain = Buffer.concat([head, Buffer.from(text)]);
  const record = sealer.seal('record', client.aid, 'endpoint', [made.unique_id], plain);
  return vault.raw.hset(placeOf(made), 'p', Buffer.from(record));
}

const QUERIES: readonly Query[] = [{}, { limit: -1 }, { decrypt_all: true }];
/** Every use of an endpoint on both servers: that which knows it already, and one that does not. */
async function usesOf(made: Address) {
  const answers: Ended[] = [];
  for (const server of [vault, second]) {
    if (made.url.includes('/capture/')) {
      answers.push(await ended(capture(server, made, { body: { number: '5' } })));
      continue;
    }
    const queries = [
      { token, reference: 'inside' },
      { token: outside, reference: 'outside' },
      { token: outside },
      ...QUERIES,
    ];
    answers.push(...(await Promise.all(queries.map((query) => ended(retrieve(server, made, { query }))))));
  }
  return answers;
}
async function outcomesOf(made: Address): Promise<Set<string>> {
  return new Set((await usesOf(made)).map(({ outcome }) => outcome));
}

const MEANT = ['500 integrity_failed', REFUSED, '403 endpoint_out_of_scope', GONE];
async function expectRefused(made: Address, also: string[] = []) {
  const allowed = [...MEANT, 'broke off', '404 token_not_found', ...also];
  const outcomes = (await usesOf(made)).map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => !allowed.includes(outcome))).toEqual([]);
}

type Edit = readonly [string, (json: Json) => Json];
function set(changes: Json) {
  return (json: Json): Json => ({ ...json, ...changes });
}
function without(name: string) {
  return ({ [name]: _, ...rest }: Json): Json => rest;
}

const COMMON: readonly Edit[] = [
  ['a longer life', (json) => ({ ...json, expiresAt: Number(json['expiresAt']) + DAY })],
  ['a life without end', set({ expiresAt: null })],
  ['no rules', set({ rules: [] })],
  ['another rule', set({ rules: ['keep'] })],
  ['card metadata', set({ wantsCard: true })],
  ['another name of its account', set({ account: 'somebody' })],
  ['another key', (json) => ({ ...json, user: 'other', kid: otherKid })],
  ['a generation before the first', set({ gen: 0 })],
  ['a member more', set({ more: 1 })],
];
const OF_CAPTURE: readonly Edit[] = [
  ...COMMON,
  ['another algorithm', set({ algorithm: 'uuid' })],
  ['no algorithm', without('algorithm')],
  ['the other kind', set({ kind: 'retrieve' })],
];
const OF_RETRIEVE: readonly Edit[] = [
  ...COMMON,
  ['no reference lock', without('reference')],
  ['another reference lock', set({ reference: 'outside' })],
  ['a token lock', (json) => ({ ...json, token })],
  ['the token of another item as its lock', (json) => ({ ...json, token: outside, reference: 'outside' })],
  ['no masks', set({ maskFields: [] })],
  ['the other kind', set({ kind: 'capture' })],
];
const cases = [
  ...OF_CAPTURE.map((edit) => ['capture', ...edit] as const),
  ...OF_RETRIEVE.map((edit) => ['retrieve', ...edit] as const),
];

const CAPTURE = { rules: 'hide', algorithm: 'luhn', ttl: '1h' };
const RETRIEVE = { rules: 'hide', reference: 'inside', mask_fields: 'holder', ttl: '1h' };
function makeRuled(kind: Kind, client = account, user = 'u'): Promise<MadeEndpoint> {
  return make(kind, client, user, kind === 'capture' ? CAPTURE : RETRIEVE);
}

describe('with the master key, a policy that was edited and sealed again', () => {
  test.each(cases)('of a %s endpoint, with %s, ends every use of it', async (kind, _, edit) => {
    const made = await makeRuled(kind);
    expect(await outcomesOf(made)).toContain('200');
    const { record, head, json } = await readPolicy(account, made);
    await writePolicy(account, made, head, JSON.stringify(edit(json)));
    await expectRefused(made);
    await vault.raw.hset(placeOf(made), 'p', record);
    expect(await outcomesOf(made)).toContain('200');
  });

  test.each(KINDS)(
    'of a %s endpoint, with a later generation, ends its use, and that of no other endpoint',
    async (kind) => {
      const [made, giving] = [
        await makeRuled(kind, account, 'ahead'),
        await createRetrieve(account, 'ahead'),
      ];
      const query = {
        token: await account.store('ahead', SHOWN, { reference: 'inside' }),
        reference: 'inside',
      };
      const { head, json } = await readPolicy(account, made);
      await writePolicy(account, made, head, JSON.stringify({ ...json, gen: 2 }));
      await expectRefused(made);
      expect((await ended(retrieve(vault, made, { query }))).outcome).not.toBe('200');
      expect((await retrieve(vault, giving, { query })).json).toEqual(SHOWN);
    },
  );

  test.each(KINDS)('does not bring an expired %s endpoint back', async (kind) => {
    const made = await makeRuled(kind);
    const { head, json } = await readPolicy(account, made);
    now += 3_601 * SECOND;
    expect(await outcomesOf(made)).toEqual(new Set([GONE]));
    await writePolicy(account, made, head, JSON.stringify({ ...json, expiresAt: null }));
    await expectRefused(made);
  });

  test('does not lift the mask of an account by the name of another', async () => {
    const made = await makeRuled('retrieve', masked);
    const { head, json } = await readPolicy(masked, made);
    await writePolicy(masked, made, head, JSON.stringify({ ...json, account: account.name }));
    for (const { outcome, text } of await usesOf(made)) {
      expect([outcome === '200', text.includes('4111111111111111')]).toEqual([false, false]);
    }
  });

  test.each(KINDS)(
    'with the check of a secret of the attacker’s own opens no %s endpoint to it',
    async (kind) => {
      const [victim, own] = [await makeRuled(kind), await makeRuled(kind, masked)];
      const { text } = await readPolicy(account, victim);
      // A secret is bound to its endpoint, so the attacker makes one for the very place of the victim's.
      const place = placeOf(victim);
      const kept = await vault.raw.dumpBuffer(place);
      const attacker = (await readPolicy(masked, own)).head;
      await writePolicy(account, victim, attacker, text);
      await expectRefused({ url: victim.url, secret: own.secret });
      await vault.raw.del(place);
      const same = await make(kind, account, 'other', { unique_id: victim.unique_id });
      const { head } = await readPolicy(account, same);
      await vault.raw.restore(place, 0, kept ?? '', 'REPLACE');
      await writePolicy(account, victim, head, text);
      await expectRefused({ url: victim.url, secret: same.secret });
    },
  );

  test.each(['', '{', 'null', '{}'])(
    'and is no policy at all, %p, is an error, and no more',
    async (text) => {
      for (const kind of KINDS) {
        const made = await makeRuled(kind);
        const { head } = await readPolicy(account, made);
        await writePolicy(account, made, head, text);
        await expectRefused(made, ['500 internal']);
      }
    },
  );
});

describe('with the master key, a wrap', () => {
  test.each(KINDS)('of another %s endpoint, sealed for this one, ends its use', async (kind) => {
    const [made, other] = [await makeRuled(kind), await makeRuled(kind)];
    const theirs = (await vault.raw.hgetBuffer(placeOf(other), 'w')) ?? Buffer.alloc(0);
    const wrap = sealer.open('record', account.aid, 'endpoint wrap', [other.unique_id], theirs);
    for (const bytes of [wrap, new Uint8Array(0), wrap.slice(0, -1), new Uint8Array(wrap.length)]) {
      const moved = sealer.seal('record', account.aid, 'endpoint wrap', [made.unique_id], bytes);
      await vault.raw.hset(placeOf(made), 'w', Buffer.from(moved));
      await expectRefused(made);
    }
  });
});

describe('after all that', () => {
  test('the server is alive and its endpoints work', async () => {
    expect(vault.opened.pool.stats()).toMatchObject({ threadsAlive: 1, restarts: 0 });
    const giving = await makeRuled('retrieve');
    expect((await retrieve(second, giving, { query: { token: outside } })).outcome).not.toBe('200');
    expect((await capture(vault, await makeRuled('capture'), { body: { number: '6' } })).outcome).toBe('200');
  });
});
