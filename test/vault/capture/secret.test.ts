import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../../server/store/redis/keys.ts';
import { JOBS } from '../../../workers/table.ts';
import { type AccountClient, type Answer, answerOf, PASSPHRASE, refusalOf } from '../../helpers/clients.ts';
import {
  capture,
  createCapture,
  createRetrieve,
  type MadeEndpoint,
  useEndpoint,
} from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';
import { flip } from '../tampering.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');
const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;
const CARD = { card_number: '4111111111111111' };
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

let clock = START;
let vault: TestVault;
let account: AccountClient;
let shop: MadeEndpoint;
let other: MadeEndpoint;
let reader: MadeEndpoint;
let old: MadeEndpoint;
let ended: MadeEndpoint;
let stopped: MadeEndpoint;

beforeAll(async () => {
  vault = await openTestVault({ now: () => clock });
  account = await vault.account();
  await account.key('u');
  await account.key('changed');
  shop = await createCapture(account, 'u', { unique_id: 'shop', ttl: '0' });
  other = await createCapture(account, 'u', { unique_id: 'other', ttl: '0' });
  reader = await createRetrieve(account, 'u', { unique_id: 'reader', ttl: '0' });
  old = await createCapture(account, 'u', { unique_id: 'anew', ttl: '0' });
  await account.send('DELETE', '/capture/anew');
  await createCapture(account, 'u', { unique_id: 'anew', ttl: '0' });
  ended = await createCapture(account, 'u', { unique_id: 'ended', ttl: '1h' });
  stopped = await createCapture(account, 'changed', { unique_id: 'stopped', ttl: '0' });
  const change = { user: 'changed', passphrase: PASSPHRASE, new_passphrase: 'the passphrase after it' };
  expect((await account.send('PUT', '/key', { body: change })).outcome).toBe('200');
});
beforeEach(() => {
  clock = START;
});
afterAll(() => vault.close());

function post(path: string, secret?: string): Promise<Answer> {
  return useEndpoint(vault, 'POST', path, { secret, body: CARD });
}

/** Everything that a caller sees of a refusal, but for its request id. */
function shownOf(answer: Answer): unknown {
  const headers = Object.fromEntries(answer.headers);
  return { refusal: refusalOf(answer), headers: { ...headers, 'x-request-id': '' } };
}
function unknown(): Promise<Answer> {
  return post('/v1/capture/never-was', shop.secret);
}

describe('a wrong secret is refused as if there were no endpoint', () => {
  const { toLowerCase, toUpperCase } = String.prototype;
  const body = (secret: string): string => secret.slice('vcs1_'.length);
  const wrong: readonly (readonly [string, () => string | undefined])[] = [
    ['none', () => undefined],
    ['an empty one', () => ''],
    ['any other text', () => 'secret'],
    ['one of the right form', () => `vcs1_${'A'.repeat(43)}`],
    ['that of another endpoint', () => other.secret],
    ['that of a retrieval endpoint', () => reader.secret],
    ['that of a retrieval endpoint with the prefix of this kind', () => `vcs1_${body(reader.secret)}`],
    ['its own with the prefix of the other kind', () => `vrs1_${body(shop.secret)}`],
    ['its own without a prefix', () => body(shop.secret)],
    ['its own with another version', () => `vcs2_${body(shop.secret)}`],
    ['its own in lower case', () => toLowerCase.call(shop.secret)],
    ['its own in upper case', () => toUpperCase.call(shop.secret)],
    ['its own without the last character', () => shop.secret.slice(0, -1)],
    ['its own with a character more', () => `${shop.secret}A`],
    ['its own with padding', () => `${shop.secret}=`],
    ['its own with a space in it', () => `${shop.secret.slice(0, 20)} ${shop.secret.slice(20)}`],
    ['its own with a tab in it', () => `${shop.secret.slice(0, 20)}\t${shop.secret.slice(20)}`],
    ['its own in quotes', () => `"${shop.secret}"`],
    ['its own percent-encoded', () => shop.secret.replace('v', '%76')],
    ['its own twice', () => shop.secret + shop.secret],
    ['its own in a list', () => `${shop.secret}, ${shop.secret}`],
    ['its own as a bearer token', () => `Bearer ${shop.secret}`],
    ['a very long one', () => 'x'.repeat(10_000)],
    ['its own with a long tail', () => shop.secret + ' x'.repeat(150)],
    ['bytes that are no ASCII', () => `${shop.secret.slice(0, -1)}ÿ`],
  ];
  test.each(wrong)('%s', async (_, secretOf) => {
    const answer = await post(shop.url, secretOf());
    expect(answer.outcome).toBe('403 endpoint_refused');
    expect(shownOf(answer)).toEqual(shownOf(await unknown()));
    expect((await post(shop.url, shop.secret)).outcome).toBe('200');
  });

  test('each other character anywhere in it, also where it would decode to the same bytes', async () => {
    const { secret } = shop;
    for (let at = 0; at < secret.length; at++) {
      const next = ALPHABET[(ALPHABET.indexOf(secret[at] ?? '') + 1) % 64] ?? '';
      const changed = secret.slice(0, at) + next + secret.slice(at + 1);
      expect([at, (await post(shop.url, changed)).outcome]).toEqual([at, '403 endpoint_refused']);
    }
  });

  test('the secret of an endpoint that was deleted, for the one that has its id now', async () => {
    const answer = await post(old.url, old.secret);
    expect(shownOf(answer)).toEqual(shownOf(await unknown()));
  });

  test('two headers, even with the right one among them', async () => {
    const headers = new Headers([
      ['x-vault-capture-secret', shop.secret],
      ['x-vault-capture-secret', 'vcs1_x'],
    ]);
    const request = new Request(`http://localhost${shop.url}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(CARD),
    });
    expect(shownOf(await answerOf(await vault.handle(request)))).toEqual(shownOf(await unknown()));
  });

  test('any secret for the id of a retrieval endpoint, its own included', async () => {
    for (const secret of [reader.secret, shop.secret, 'x', undefined]) {
      expect(shownOf(await post('/v1/capture/reader', secret))).toEqual(shownOf(await unknown()));
    }
  });

  test('spaces around it are not part of it, as in every header', async () => {
    expect((await post(shop.url, ` \t${shop.secret} `)).outcome).toBe('200');
  });

  test('also of an endpoint that has ended, was stopped, or is only reserved', async () => {
    clock = START + 2 * HOUR;
    await vault.raw.hset(redisKeys.endpoint('reserved'), 'n', 'nonce');
    for (const { url } of [ended, stopped, { url: '/v1/capture/reserved' }]) {
      for (const secret of [undefined, '', 'x', shop.secret, reader.secret]) {
        expect(shownOf(await post(url, secret))).toEqual(shownOf(await unknown()));
      }
    }
  });

  test('before the body is looked at', async () => {
    for (const sent of ['{', '[]', '{}', `{"number":"1","a":${'['.repeat(70)}`]) {
      const answer = await useEndpoint(vault, 'POST', shop.url, { secret: 'x', body: sent });
      expect(shownOf(answer)).toEqual(shownOf(await unknown()));
    }
  });
});

describe('an odd id is refused like one that nobody has', () => {
  test.each([
    '%69frame',
    '%00',
    'shop%00',
    '%7Be:shop%7D',
    '{e:shop}',
    '%7Ba:x%7De',
    'sh%20op',
    'shop%20',
    'shop%2F',
    'shop%3Fx',
    'SHOP',
    '%2573hop',
    '%ff',
    '%',
    '%zz',
    '%F0%9F%98%80',
    '*',
    '__proto__',
    'constructor',
    'decoy',
    'x'.repeat(129),
    'x'.repeat(10_000),
  ])('%.20s', async (segment) => {
    for (const secret of [shop.secret, undefined]) {
      expect(shownOf(await post(`/v1/capture/${segment}`, secret))).toEqual(shownOf(await unknown()));
    }
  });

  test('an encoded id is the id', async () => {
    expect((await post('/v1/capture/%73hop', shop.secret)).outcome).toBe('200');
  });

  test('without an id it is the creation, which needs an account', async () => {
    for (const path of ['/v1/capture', '/v1/capture/']) {
      expect((await post(path, shop.secret)).outcome).toBe('401 unauthenticated');
    }
  });
});

describe('whatever is wrong costs the same work', () => {
  /** The jobs that threads are given while a request is answered. */
  const jobsOf = async (path: string, secret: string | undefined): Promise<readonly number[]> => {
    const { pool } = vault.opened;
    const run = pool.run;
    const jobs: number[] = [];
    Reflect.set(pool, 'run', (...given: Parameters<typeof run>) => {
      jobs.push(given[0].kind);
      return run(...given);
    });
    await post(path, secret).finally(() => Reflect.set(pool, 'run', run));
    return jobs;
  };
  const cases = (): readonly (readonly [string, string | undefined])[] => [
    ['/v1/capture/never-was', shop.secret],
    ['/v1/capture/%00', shop.secret],
    [shop.url, 'vcs1_wrong'],
    [shop.url, undefined],
    [ended.url, shop.secret],
    [stopped.url, shop.secret],
    ['/v1/capture/reader', reader.secret],
  ];

  test('one check of one secret, and no other job', async () => {
    clock = START + 2 * HOUR;
    for (const [path, secret] of cases()) {
      await post(path, secret);
      expect([path, await jobsOf(path, secret)]).toEqual([path, [JOBS.checkEndpoint.kind]]);
    }
  });

  test('the very first time too, before anything is remembered of the endpoint', async () => {
    await unknown();
    const fresh = await createCapture(account, 'u');
    expect(await jobsOf(fresh.url, 'vcs1_wrong')).toEqual(
      await jobsOf('/v1/capture/never-was', 'vcs1_wrong'),
    );
  });
});

describe('the right secret of an endpoint that has ended', () => {
  test('is told so from the exact millisecond', async () => {
    const end = Date.parse(ended.expires_at ?? '');
    expect(end).toBe(START + HOUR);
    for (const [at, outcome] of [
      [end - 1, '200'],
      [end, '410 endpoint_gone'],
      [end + 1, '410 endpoint_gone'],
      // The clock may be put back.
      [end - 1, '200'],
      [end + HOUR, '410 endpoint_gone'],
      [end + YEAR, '410 endpoint_gone'],
    ] as const) {
      clock = at;
      expect([at - end, (await post(ended.url, ended.secret)).outcome]).toEqual([at - end, outcome]);
    }
  });

  test('is refused within a second of a short life, whenever it began', async () => {
    for (const offset of [0, 1, 499, 999]) {
      clock = START + offset;
      const made = await createCapture(account, 'u', { ttl: '1s' });
      const end = Date.parse(made.expires_at ?? '');
      expect(end).toBeGreaterThanOrEqual(clock + 1_000);
      expect(end).toBeLessThan(clock + 2_000);
      clock = end - 1;
      expect((await post(made.url, made.secret)).outcome).toBe('200');
      clock = end;
      expect((await post(made.url, made.secret)).outcome).toBe('410 endpoint_gone');
    }
  });

  test('is told so before the body is looked at', async () => {
    clock = START + HOUR;
    const answer = await useEndpoint(vault, 'POST', ended.url, { secret: ended.secret, body: '{' });
    expect(answer.outcome).toBe('410 endpoint_gone');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  });

  test('is told so when a passphrase change has stopped it', async () => {
    expect((await post(stopped.url, stopped.secret)).outcome).toBe('410 endpoint_gone');
  });

  test('a permanent one lives on', async () => {
    const own = await openTestVault({ now: () => clock });
    const client = await own.account();
    await client.key('u');
    const { url, secret } = await createCapture(client, 'u', { ttl: '0' });
    clock = START + 10 * YEAR;
    await own.opened.sweep();
    expect((await useEndpoint(own, 'POST', url, { secret, body: CARD })).outcome).toBe('200');
    await own.close();
  });
});

describe('guessing', () => {
  test('never locks the endpoint: two thousand wrong secrets, and every right one between them is let in', async () => {
    const outcomes = new Map<string, number>();
    const count = ({ outcome }: Answer): void => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    for (let round = 0; round < 20; round++) {
      const guesses = Array.from({ length: 100 }, (_, n) => {
        const guess = Buffer.alloc(32, `${round} ${n}`).toString('base64url');
        return post(shop.url, `vcs1_${guess}`);
      });
      const right = [0, 1, 2].map(() => post(shop.url, shop.secret));
      (await Promise.all([...guesses, ...right])).forEach(count);
    }
    expect(Object.fromEntries(outcomes)).toEqual({ '403 endpoint_refused': 2_000, '200': 60 });
  });
});

describe('a record that was tampered with', () => {
  test('is not used, whatever the secret', async () => {
    const made = await createCapture(account, 'u', { unique_id: 'tampered', ttl: '0' });
    const name = redisKeys.endpoint('tampered');
    for (const field of ['p', 'w']) {
      const record = (await vault.raw.hgetBuffer(name, field)) ?? Buffer.alloc(0);
      for (let at = 0; at < record.length; at += 9) {
        await vault.raw.hset(name, field, flip(record, at));
        expect([field, at, (await post(made.url, made.secret)).outcome]).toEqual([
          field,
          at,
          '500 integrity_failed',
        ]);
      }
      await vault.raw.hset(name, field, record);
    }
    expect((await post(made.url, made.secret)).outcome).toBe('200');
  });

  test('the one of another endpoint, moved, is not either', async () => {
    const made = await createCapture(account, 'u', { unique_id: 'moved', ttl: '0' });
    const from = await vault.raw.hgetallBuffer(redisKeys.endpoint('shop'));
    const own = await vault.raw.hgetallBuffer(redisKeys.endpoint('moved'));
    for (const part of [{ p: from['p'] }, { w: from['w'] }, { p: from['p'], w: from['w'] }, from]) {
      await vault.raw.hset(redisKeys.endpoint('moved'), { ...own, ...part } as Record<string, Buffer>);
      for (const secret of [made.secret, shop.secret]) {
        expect((await post(made.url, secret)).status).not.toBe(200);
      }
    }
    await vault.raw.hset(redisKeys.endpoint('moved'), own);
    expect((await capture(vault, made, { body: CARD })).outcome).toBe('200');
  });
});
