import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { StartError } from '../../server/core/errors.ts';
import { appendOnlyText, canariesIn, dumpRedis } from '../helpers/canaries.ts';
import {
  type AccountClient,
  type Answer,
  answerOf,
  basicAuth,
  createAccountClient,
  type Sending,
} from '../helpers/clients.ts';
import { startTestRedis, type TestRedis } from '../helpers/redis.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

/** Texts that may stand nowhere but in the replies to those who may read them. */
const CANARIES = {
  number: '5204740009900014',
  spaced: '4917 4845 8989 7107',
  cvv: 'cvv-canary-9417',
  track: ';4917484589897107=canary-track?',
  holder: 'Canary Holder Qzvw',
  nested: 'canary-nested-value-xk7',
  member: 'canary-member-name-p2',
  updated: 'canary-updated-value-m4',
  queried: '6011000990139424',
  reference: 'canary-reference-8d2k',
  prefix: 'canary-reference',
  passphrase: 'canary passphrase öf the key 71',
  changed: 'canary passphrase after the change 72',
  wrong: 'canary passphrase that is wrong 73',
  password: 'canary-password-of-the-account-74',
  newPassword: 'canary-password-from-now-on-77',
  lastPassword: 'canary-password-in-a-query-78',
  preference: 'canary-value-of-a-preference-79',
  agent: 'canary-user-agent/75',
  address: '203.0.113.211',
  idempotency: 'canary-idempotency-key-76',
} as const;

let redis: TestRedis;
let vault: TestVault;
let client: AccountClient;
const refusals: Answer[] = [];

async function send(method: string, path: string, sending: Sending = {}): Promise<Answer> {
  const headers = {
    'user-agent': CANARIES.agent,
    'x-forwarded-for': CANARIES.address,
    ...sending.headers,
  };
  const answer = await client.send(method, path, { ...sending, headers });
  if (answer.status !== 200) {
    refusals.push(answer);
  }
  return answer;
}

/** Everything that can be done with an item, with a canary wherever the caller may put something. */
async function useEverything(): Promise<void> {
  const { passphrase, reference } = CANARIES;
  await send('POST', '/key', { body: { user: 'u', passphrase } });
  const body = {
    card_number: CANARIES.number,
    account_number: CANARIES.spaced,
    cvv: CANARIES.cvv,
    track2: CANARIES.track,
    holder: CANARIES.holder,
    deep: [{ [CANARIES.member]: CANARIES.nested }],
  };
  const query = { user: 'u', reference, return_card_metadata: true };
  const stored = await send('POST', '/vault', {
    query,
    passphrase,
    body,
    idempotencyKey: CANARIES.idempotency,
  });
  expect(stored.status).toBe(200);
  const { token } = stored.as<{ token: string }>();
  const address = { user: 'u', token, reference };
  await send('POST', '/vault', {
    query: { user: 'u', number: CANARIES.queried, algorithm: 'luhn' },
    passphrase,
    body: {},
  });
  await send('POST', '/vault', { query: { user: 'u', algorithm: 'partial_12_end' }, passphrase, body });
  await send('POST', '/vault/update', {
    query: address,
    passphrase,
    body: { holder: CANARIES.updated },
    idempotencyKey: CANARIES.idempotency,
  });
  const opened = await send('GET', '/vault', { query: address, passphrase });
  expect(opened.text).toContain(CANARIES.cvv);
  await send('GET', '/vault', { query: { user: 'u', decrypt_all: true }, passphrase });
  await send('GET', '/vault', { query: { user: 'u', reference_prefix: CANARIES.prefix } });
  const log = await send('GET', '/vault/metadata', { query: address });
  expect(log.text).toContain(CANARIES.agent);
  expect(log.text).toContain(CANARIES.address);
  const change = { user: 'u', passphrase, new_passphrase: CANARIES.changed };
  expect((await send('PUT', '/key', { body: change })).status).toBe(200);
  const again = await send('GET', '/vault', { query: address, passphrase: CANARIES.changed });
  expect(again.text).toContain(CANARIES.updated);
}

/** What an account does about itself, with canaries; the last password is sent in the query. */
async function useAccount(): Promise<void> {
  const { preference, newPassword, lastPassword } = CANARIES;
  await send('POST', '/preferences', { body: { key: 'own', value: preference } });
  await send('POST', '/preferences', { body: { key: 'default_limit', value: preference } });
  const conflict = { query: { new_password: lastPassword }, body: { new_password: newPassword } };
  await send('POST', '/change-password', conflict);
  const changed = await send('POST', '/change-password', { body: { new_password: newPassword } });
  expect(changed.text).toContain(newPassword);
  client = createAccountClient(vault.handle, { ...client, password: newPassword });
  expect((await send('POST', '/change-password', { query: { new_password: lastPassword } })).status).toBe(
    200,
  );
  client = createAccountClient(vault.handle, { ...client, password: lastPassword });
  expect((await send('GET', '/preferences?key=own')).text).toContain(preference);
}

/** One refusal of each kind, with canaries in the request. */
async function beRefused(): Promise<void> {
  const { changed: passphrase, number, reference, wrong, holder } = CANARIES;
  const query = { user: 'u', token: number, reference };
  const body = { card_number: number, holder };
  await send('GET', '/vault', { query, passphrase });
  await send('GET', '/vault', { query, passphrase: wrong });
  await send('GET', `/vault?user=u&token=x&passphrase=${encodeURIComponent(wrong)}`, { passphrase });
  await send('POST', '/vault', { query: { user: number }, passphrase, body });
  await send('POST', '/vault', { query: { user: 'u', algorithm: number }, passphrase, body });
  await send('POST', '/vault', { query: { user: 'u' }, passphrase, body: `{"${holder}":"${number}"` });
  await send('POST', '/vault', { query: { user: 'u' }, passphrase, body: { [holder]: holder } });
  await send('POST', '/vault', {
    query: { user: 'u' },
    passphrase,
    body: { number, x: number.repeat(20_000) },
  });
  await send('POST', '/vault', {
    query: { user: 'u' },
    passphrase,
    body: { number: '7' },
    idempotencyKey: CANARIES.idempotency,
  });
  await send('GET', '/vault', { query: { limit: number, next_token: holder } });
  await send('GET', '/vault', { query: { next_token: number } });
  await send('GET', '/vault', { query: { stored_after: number } });
  await send('GET', '/vault', {
    query: { user: 'u', rules: holder.replaceAll(' ', ''), token: 'x' },
    passphrase,
  });
  await send('GET', `/vault?${encodeURIComponent(holder)}=1&${encodeURIComponent(holder)}=2`);
  await send('GET', `/vault?reference=${encodeURIComponent(holder)}&reference=${number}`);
  await send('POST', '/key', { body: { user: number, passphrase: 'x' } });
  await send('POST', '/key', { body: { user: holder, [holder]: number } });
  await send('PUT', '/key', { body: { user: 'u', passphrase: wrong } });
  await send('DELETE', '/key', { query: { user: 'u' } });
  await send('GET', '/whoami', { headers: { authorization: basicAuth(client.name, wrong) } });
  await send('GET', `/${number}/${encodeURIComponent(holder)}`);
  await send('PATCH', `/vault?number=${number}`);
  refusals.push(await answerOf(await vault.handle(new Request(`http://localhost/${number}?x=${number}`))));
}

beforeAll(async () => {
  redis = await startTestRedis({ durable: true });
  vault = await openTestVault({ redis, trustedProxies: ['127.0.0.0/8'], authFailuresMax: 50 });
  client = await vault.account({ password: CANARIES.password });
});
afterAll(async () => {
  await vault.close();
  await redis.stop();
});

function found(text: string): string[] {
  return canariesIn(CANARIES, text);
}

describe('after everything was used with canaries', () => {
  let dump: string;
  beforeAll(async () => {
    await useEverything();
    await useAccount();
    await beRefused();
    dump = await dumpRedis(vault.raw);
  });

  test('the search itself finds what is there', () => {
    for (const canary of Object.values(CANARIES)) {
      for (const shift of ['', 'x', 'xy', 'xyz']) {
        const around = Buffer.from(`${shift}${canary} and more`);
        for (const text of [
          around.toString('latin1'),
          around.toString('hex'),
          around.toString('base64'),
          around.toString('base64url'),
        ]) {
          expect(found(text).length).toBeGreaterThan(0);
        }
      }
    }
  });

  test('Redis holds none of them, in no name and no value', () => {
    expect(dump.length).toBeGreaterThan(5_000);
    expect(found(dump)).toEqual([]);
  });

  test('nor do the files of Redis', () => {
    const text = appendOnlyText(redis);
    expect(text).toContain('HSET');
    expect(found(text)).toEqual([]);
  });

  test('nor do the server’s log lines', () => {
    const lines = vault.lines.map((line) => JSON.stringify(line));
    expect(lines.length).toBeGreaterThan(30);
    expect(found(lines.join('\n'))).toEqual([]);
    expect(vault.lines.filter(({ event }) => event !== 'request')).toEqual([]);
  });

  test('nor do the metrics', async () => {
    const response = await vault.handle(new Request('http://localhost/metrics'));
    expect(found(await response.text())).toEqual([]);
  });

  test('nor does any refusal, in its body or its headers', () => {
    expect(new Set(refusals.map(({ outcome }) => outcome))).toEqual(
      new Set([
        '400 invalid_request',
        '400 invalid_json',
        '400 number_missing',
        '400 conflicting_parameters',
        '400 cursor_invalid',
        '400 duplicate_parameter',
        '401 unauthenticated',
        '403 passphrase_wrong',
        '404 key_not_found',
        '404 token_not_found',
        '404 rule_not_found',
        '400 unknown_parameter',
        '404 not_found',
        '405 method_not_allowed',
        '409 idempotency_conflict',
        '409 key_not_empty',
        '413 body_too_large',
      ]),
    );
    for (const { text, headers, outcome } of refusals) {
      expect([outcome, found(text), found(JSON.stringify([...headers]))]).toEqual([outcome, [], []]);
    }
  });

  test('every refusal has the one shape, with the id of its request', () => {
    for (const { json, headers } of refusals) {
      const { error, code, request_id, field, ...rest } = Object(json);
      expect(rest).toEqual({});
      expect(error).toMatch(/\.$/);
      expect(code).toMatch(/^[a-z_]+$/);
      expect(request_id).toBe(headers.get('x-request-id'));
      expect(['string', 'undefined']).toContain(typeof field);
    }
  });

  test('a server with another master key does not start on it', async () => {
    const started = vault
      .secondServer({ masterKey: new Uint8Array(32).fill(8) })
      .catch((error: unknown) => error);
    expect(await started).toBeInstanceOf(StartError);
  });

  test('nor does one of the other environment', async () => {
    const started = vault.secondServer({ environment: 'production' }).catch((error: unknown) => error);
    expect(await started).toBeInstanceOf(StartError);
  });
});
