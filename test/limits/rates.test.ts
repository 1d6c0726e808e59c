import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sourceOf } from '../../server/domain/text/network.ts';
import { buildGuide } from '../helpers/built-guide.ts';
import { type AccountClient, type Answer, answerOf, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const SOURCE_MAX = 5;
const ACCOUNT_MAX = 8;

let vault: TestVault;
let second: TestVault;
let account: AccountClient;
let lastSource = 0;

beforeAll(async () => {
  await buildGuide();
  vault = await openTestVault({
    ratePerSource: SOURCE_MAX,
    ratePerAccount: ACCOUNT_MAX,
    trustedProxies: ['127.0.0.0/8'],
  });
  second = await vault.secondServer();
  account = await vault.account();
});

afterAll(async () => {
  await second.close();
  await vault.close();
});

function freshSource(): string {
  return `198.51.100.${++lastSource}`;
}

function whoami(from: string, client = account, at = vault): Promise<Answer> {
  return client.via(at.handle).send('GET', '/whoami', { headers: { 'x-forwarded-for': from } });
}

function outcomesOf(answers: readonly Answer[]): readonly string[] {
  return answers.map(({ outcome }) => outcome);
}
function times(n: number, outcome: string): readonly string[] {
  return Array(n).fill(outcome);
}

function waitOf({ headers }: Answer): number {
  return Number(headers.get('retry-after'));
}

describe('a source', () => {
  test('gets a minute’s worth at once and then 429 with the seconds until the next', async () => {
    const client = await vault.account();
    const from = freshSource();
    const answers = [];
    const startedAt = performance.now();
    for (let n = 0; n < SOURCE_MAX + 2; n++) {
      answers.push(await whoami(from, client));
    }
    expect(outcomesOf(answers)).toEqual([...times(SOURCE_MAX, '200'), ...times(2, '429 rate_limited')]);
    const passed = (performance.now() - startedAt) / 1_000;
    expect(waitOf(answers[SOURCE_MAX] as Answer)).toBeWithin(60 / SOURCE_MAX - passed, 60 / SOURCE_MAX + 1);
    expect((await whoami(freshSource(), client)).outcome).toBe('200');
  });

  test('is counted once for many at one instant and on two servers', async () => {
    const client = await vault.account();
    const from = freshSource();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => whoami(from, client, n % 2 === 0 ? vault : second)),
    );
    expect(outcomesOf(answers).toSorted()).toEqual([
      ...times(SOURCE_MAX, '200'),
      ...times(40 - SOURCE_MAX, '429 rate_limited'),
    ]);
  });

  test('is refused before a password is looked at, and wrong passwords count', async () => {
    const from = freshSource();
    const guess = (n: number): Promise<Answer> =>
      account.send('GET', '/whoami', {
        headers: { 'x-forwarded-for': from, authorization: `Basic ${btoa(`nobody:guess ${n}`)}` },
      });
    const answers = [];
    for (let n = 0; n < SOURCE_MAX + 3; n++) {
      answers.push(await guess(n));
    }
    expect(outcomesOf(answers)).toEqual([
      ...times(SOURCE_MAX, '401 unauthenticated'),
      ...times(3, '429 rate_limited'),
    ]);
  });

  test('once refused, is refused without Redis', async () => {
    const { rates } = vault.opened.services;
    const client = await vault.account();
    const from = freshSource();
    for (let n = 0; n <= SOURCE_MAX; n++) {
      await whoami(from, client);
    }
    const calls = async (): Promise<number> =>
      Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(await vault.raw.info('commandstats'))?.[1]);
    const [before, refused] = [await calls(), rates.rejected()];
    for (let n = 0; n < 200; n++) {
      expect((await whoami(from, client)).outcome).toBe('429 rate_limited');
    }
    expect(await calls()).toBe(before);
    expect(rates.rejected()).toBe(refused + 200);
  });

  test('is counted for endpoints and pages, and not for health, metrics and preflights', async () => {
    const from = freshSource();
    const get = async (path: string, method = 'GET'): Promise<Answer> => {
      const request = new Request(`http://localhost${path}`, {
        method,
        headers: { 'x-forwarded-for': from },
      });
      return answerOf(await vault.handle(request));
    };
    for (let n = 0; n < SOURCE_MAX; n++) {
      expect((await get('/v1/retrieve/unknown')).outcome).toBe('403 endpoint_refused');
    }
    expect((await get('/v1/capture/unknown', 'POST')).outcome).toBe('429 rate_limited');
    expect((await get('/v1/retrieve/iframe/pcd')).outcome).toBe('429 rate_limited');
    for (const path of ['/health/live', '/health/ready', '/metrics', '/docs']) {
      expect((await get(path)).status).toBe(200);
    }
    expect((await get('/v1/capture/unknown', 'OPTIONS')).status).toBe(204);
  });

  test('is all addresses of one IPv6 network of 64 bits', async () => {
    const client = await vault.account();
    const answers = [];
    for (let n = 0; n <= SOURCE_MAX; n++) {
      answers.push(await whoami(`2001:db8:7:7::${n + 1}`, client));
    }
    expect(outcomesOf(answers)).toEqual([...times(SOURCE_MAX, '200'), '429 rate_limited']);
    expect((await whoami('2001:db8:7:8::1', client)).outcome).toBe('200');
  });

  test.each([
    ['198.51.100.1', '198.51.100.1'],
    ['::ffff:198.51.100.1', '198.51.100.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['not:an:address', 'not:an:address'],
  ])('%s counts as %s', (ip, source) => {
    expect(sourceOf(ip)).toBe(source);
  });

  test('leaves nothing in Redis that names it, and nothing for longer than a minute', async () => {
    const from = freshSource();
    await whoami(from, await vault.account());
    const names = await vault.raw.keys('{s:*');
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => name.includes(from))).toEqual([]);
    for (const name of names) {
      // One that has run out by now is -2.
      expect(await vault.raw.pttl(name)).not.toBe(-1);
      expect(await vault.raw.pttl(name)).toBeLessThanOrEqual(60_000);
    }
  });
});

describe('an account', () => {
  test('gets its requests from wherever they come, also those of its endpoints; others are unaffected', async () => {
    const client = await vault.account();
    const from = (): { headers: { 'x-forwarded-for': string } } => ({
      headers: { 'x-forwarded-for': freshSource() },
    });
    await client.send('POST', '/key', { body: { user: 'u', passphrase: PASSPHRASE }, ...from() });
    const made = await client.send('POST', '/capture', {
      query: { user: 'u' },
      passphrase: PASSPHRASE,
      ...from(),
    });
    const { unique_id, secret: right } = made.as<{ unique_id: string; secret: string }>();
    const capture = async (secret: string): Promise<string> => {
      const headers = { 'x-vault-capture-secret': secret, 'x-forwarded-for': freshSource() };
      const init = { method: 'POST', headers, body: '{"card_number":"4111111111111111"}' };
      return (
        await answerOf(await vault.handle(new Request(`http://localhost/v1/capture/${unique_id}`, init)))
      ).outcome;
    };
    for (let n = 0; n < 30; n++) {
      expect(await capture(`guess ${n}`)).toBe('403 endpoint_refused');
    }
    for (let n = 2; n < ACCOUNT_MAX; n++) {
      expect(await capture(right)).toBe('200');
    }
    expect(await capture(right)).toBe('429 rate_limited');
    expect((await whoami(freshSource(), client)).outcome).toBe('429 rate_limited');
    expect((await whoami(freshSource(), client, second)).outcome).toBe('429 rate_limited');
    expect((await whoami(freshSource(), await vault.account())).outcome).toBe('200');
  });
});

test('whoever waits as long as told is let through, once', async () => {
  let passedMs = 0;
  const now = (): number => Date.now() + passedMs;
  const slow = await vault.secondServer({ ratePerSource: 0, ratePerAccount: 6, now });
  try {
    const client = await slow.account();
    const ask = (): Promise<Answer> => client.send('GET', '/whoami');
    await Promise.all(Array.from({ length: 6 }, ask));
    const refused = await ask();
    expect(refused.outcome).toBe('429 rate_limited');
    const wait = waitOf(refused);
    // Of the ten seconds, some may have passed on a busy machine.
    expect(wait).toBeWithin(5, 11);
    // The clock of Redis cannot be moved: its counter is.
    const counter = `{a:${client.aid}}m`;
    const pass = async (ms: number): Promise<void> => {
      passedMs += ms;
      await vault.raw.set(counter, String(Number(await vault.raw.get(counter)) - ms * 1_000), 'KEEPTTL');
    };
    await pass((wait - 4) * 1_000);
    const early = await ask();
    expect(early.outcome).toBe('429 rate_limited');
    expect(waitOf(early)).toBeWithin(1, 5);
    await pass(waitOf(early) * 1_000);
    expect((await ask()).outcome).toBe('200');
    expect((await ask()).outcome).toBe('429 rate_limited');
  } finally {
    await slow.close();
  }
});

test('whoever was refused is heard again when the clock of the server was set back', async () => {
  let setBackMs = 0;
  const now = (): number => Date.now() - setBackMs;
  const server = await vault.secondServer({ ratePerSource: 0, ratePerAccount: 1, now });
  try {
    const client = await server.account();
    const ask = async (): Promise<string> => (await client.send('GET', '/whoami')).outcome;
    expect([await ask(), await ask()]).toEqual(['200', '429 rate_limited']);
    await vault.raw.del(`{a:${client.aid}}m`);
    expect(await ask()).toBe('429 rate_limited');
    setBackMs = 3_600_000;
    expect(await ask()).toBe('200');
  } finally {
    await server.close();
  }
});

test('a clock that was set back shuts nobody out for longer than a minute', async () => {
  const client = await vault.account();
  await vault.raw.set(`{a:${client.aid}}m`, String((Date.now() + 86_400_000) * 1_000));
  const refused = await whoami(freshSource(), client);
  expect(refused.outcome).toBe('429 rate_limited');
  expect(waitOf(refused)).toBeLessThanOrEqual(60);
});
