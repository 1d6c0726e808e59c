import { afterAll, describe, expect, test } from 'bun:test';
import { type AccountClient, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const vault = await openTestVault();
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());

interface Sent {
  readonly query?: Query;
  readonly passphrase?: string;
}

function send(path: string, body: string, sent: Sent = {}) {
  return account.send('POST', path, { ...sent, body });
}

/** Routes of each limit. */
const LIMITS: readonly (readonly [path: string, bytes: number, sent: Sent])[] = [
  ['/key', 65_536, {}],
  ['/credential', 65_536, {}],
  ['/connection', 65_536, {}],
  ['/preferences', 65_536, {}],
  ['/capture', 65_536, { query: { user: 'u' }, passphrase: PASSPHRASE }],
  ['/vault', 262_144, { query: { user: 'u' }, passphrase: PASSPHRASE }],
  ['/rule', 262_144, { query: { id: 'r' } }],
  ['/rule/test', 262_144, {}],
  ['/vault/batch/decrypt', 524_288, { passphrase: PASSPHRASE }],
  ['/vault/batch/delete', 524_288, {}],
  ['/retrieve/iframe', 1_048_576, { query: { form_type: 'pcd' } }],
  ['/proxy/post', 1_048_576, { query: { user: 'u', token: 't' }, passphrase: PASSPHRASE }],
  ['/vault/batch', 8_388_608, { passphrase: PASSPHRASE }],
];

test.each(LIMITS)('the body of %s may have %d bytes and no more', async (path, bytes, sent) => {
  const padded = '{}'.padStart(bytes);
  expect((await send(path, padded, sent)).status).not.toBe(413);
  const over = await send(path, ` ${padded}`, sent);
  expect([over.outcome, over.field]).toEqual(['413 body_too_large', 'body']);
});

test('512 KB of tokens are read, and each has its result', async () => {
  const tokens = Array.from({ length: 500 }, (_, i) => ({ token: `${i}` }));
  const body = JSON.stringify({ user: 'u', items: tokens }).padStart(524_288);
  for (const path of ['delete', 'decrypt'] as const) {
    const sent = path === 'decrypt' ? { passphrase: PASSPHRASE } : {};
    const answer = await send(`/vault/batch/${path}`, body, sent);
    const { results } = answer.as<{ results: { code: string }[] }>();
    expect(results.map(({ code }) => code)).toEqual(tokens.map(() => 'token_not_found'));
  }
});

/** `start`, as many of `piece` as fit, and `end`. */
function filled(bytes: number, start: string, piece: string, end = ''): string {
  const room = bytes - start.length - end.length;
  return `${start}${piece.repeat(Math.floor(room / piece.length))}${end}`;
}

const BATCH = '{"user":"u","items":[';
const ITEM = '{"token":"t"}';
/** Bodies that cost much to read: each with what it is refused with, or 200. */
const COSTLY: readonly (readonly [what: string, path: string, body: string, outcome: string])[] = [
  ['objects', '/vault/batch/delete', filled(524_288, BATCH, '{},', '{}]}'), '400 invalid_request body.items'],
  [
    'tokens',
    '/vault/batch/delete',
    filled(524_288, BATCH, `${ITEM},`, `${ITEM}]}`),
    '400 invalid_request body.items',
  ],
  ['brackets', '/vault/batch/delete', filled(524_288, BATCH, '['), '400 json_too_deep body'],
  [
    'values beside the items',
    '/vault/batch/delete',
    filled(524_288, `${BATCH}${ITEM}],"more":[`, '0,', '0]}'),
    '400 invalid_request body',
  ],
  [
    'values in an item',
    '/vault/batch/delete',
    filled(524_288, `${BATCH}{"token":[`, '[],', '0]}]}'),
    '400 invalid_request body',
  ],
  ['a text', '/vault/batch/delete', filled(524_288, `${BATCH}"`, 'x', '"]}'), '200 undefined'],
  ['escapes', '/vault/batch/delete', filled(524_288, `${BATCH}"`, '\\u0041', '"]}'), '200 undefined'],
  [
    'a thousand wrong items',
    '/vault/batch/delete',
    `${BATCH}${'{"tokn":"t"},'.repeat(999)}{}]}`,
    '200 undefined',
  ],
  [
    'values of a form',
    '/retrieve/iframe?form_type=pcd',
    filled(1_048_576, '{"a":[', '{},', '{}]}'),
    '400 invalid_request body',
  ],
  [
    'values of a short body',
    '/credential',
    filled(65_536, '{"a":[', '{},', '{}]}'),
    '400 invalid_request body',
  ],
];

/** The CPU time of this thread, which is the server's main one, until the answer: the least of several tries, in ms. */
async function mainThreadMs(act: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 7; tries++) {
    const before = process.threadCpuUsage();
    await act();
    const after = process.threadCpuUsage();
    least = Math.min(least, after.user + after.system - before.user - before.system);
  }
  return least / 1_000;
}

describe('a body that costs much to read', () => {
  test.each(COSTLY)('%s: costs the main thread less than 20 ms', async (_, path, body, outcome) => {
    const answer = await account.send('POST', path, { body });
    expect(`${answer.outcome} ${answer.field}`).toBe(outcome);
    expect(await mainThreadMs(() => account.send('POST', path, { body }))).toBeLessThan(20);
  });

  test('does not keep another account from storing', async () => {
    const other: AccountClient = await vault.account();
    await other.key('u');
    const body = filled(524_288, BATCH, '{},', '{}]}');
    const refused = Array.from({ length: 40 }, () => send('/vault/batch/delete', body));
    const stored = Array.from({ length: 40 }, (_, i) => other.store('u', { number: `77000${i}` }));
    expect(new Set(await Promise.all(stored)).size).toBe(40);
    expect(new Set((await Promise.all(refused)).map(({ outcome }) => outcome))).toEqual(
      new Set(['400 invalid_request']),
    );
  });

  test('is checked as a short one is', async () => {
    const padding = ' '.repeat(20_000);
    const answers = await Promise.all(
      [
        '{"user":"u","items":[]}',
        '{"user":7,"items":[{"token":"t"}]}',
        '{"user":"u","items":[{"token":"t"}],"__proto__":{"user":"u"}}',
        '{"user":"u","user":"u"}',
        '{"user":"none","items":[{"token":"t"}]}',
        '{"user":"u","items":[{"token":"t","reference":1e400}]}',
      ].map((body) => send('/vault/batch/delete', padding + body)),
    );
    expect(answers.map(({ outcome, field }) => `${outcome} ${field}`)).toEqual([
      '400 invalid_request body.items',
      '400 invalid_request body.user',
      '400 unknown_parameter body.__proto__',
      '400 invalid_json body',
      '404 key_not_found body.user',
      '200 undefined',
    ]);
  });
});
