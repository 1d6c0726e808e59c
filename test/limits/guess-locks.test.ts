import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { JOBS } from '../../workers/table.ts';
import { type AccountClient, type Answer, basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const FAILURES_MAX = 3;
const LOCK_SECONDS = 1_800;
const LOCKED = '429 too_many_failures';
const USER = 'guessed';
/** So long after a success the next one clears nothing (`limits/attempts.ts`), in ms of the real clock. */
const CLEAR_AGAIN_MS = 20;

let now = Date.now();
let vault: TestVault;
let second: TestVault;
let account: AccountClient;
let sources = 0;

beforeAll(async () => {
  vault = await openTestVault({
    authFailuresMax: FAILURES_MAX,
    trustedProxies: ['127.0.0.0/8'],
    now: () => now,
    workers: 2,
  });
  second = await vault.secondServer();
});

afterAll(async () => {
  await second.close();
  await vault.close();
});

function freshSource(): string {
  sources += 1;
  return `198.51.${100 + Math.floor(sources / 250)}.${1 + (sources % 250)}`;
}

/** One secret that can be guessed, and how it is tried. */
interface Guessed {
  readonly wrong: string;
  /** Tries the right secret. */
  readonly right: (from: string, at?: TestVault) => Promise<string>;
  readonly guess: (n: number, from: string, at?: TestVault) => Promise<string>;
}

async function whoami(password: string, from: string, at = vault): Promise<string> {
  const headers = { authorization: basicAuth(account.name, password), 'x-forwarded-for': from };
  return (await account.via(at.handle).send('GET', '/whoami', { headers })).outcome;
}

async function open(passphrase: string, from: string, at = vault): Promise<string> {
  const headers = { 'x-forwarded-for': from };
  const reading = { query: { user: USER, token: 'x' }, passphrase, headers };
  const answer: Answer = await account.via(at.handle).send('GET', '/vault', reading);
  return answer.outcome === '404 token_not_found' ? '200' : answer.outcome;
}

const PASSWORD: Guessed = {
  wrong: '401 unauthenticated',
  right: (from, at) => whoami(account.password, from, at),
  guess: (n, from, at) => whoami(`guess number ${n} of a password`, from, at),
};
const KEY: Guessed = {
  wrong: '403 passphrase_wrong',
  right: (from, at) => open(PASSPHRASE, from, at),
  guess: (n, from, at) => open(`guess number ${n} of a passphrase`, from, at),
};

/** Guesses until the source is locked. */
async function lock({ guess, wrong }: Guessed, from: string, at = vault): Promise<void> {
  for (let n = 0; n < FAILURES_MAX; n++) {
    expect(await guess(n, from, at)).toBe(wrong);
  }
  expect(await guess(99, from, at)).toBe(LOCKED);
}

describe.each([
  ['a password', PASSWORD],
  ['a passphrase', KEY],
])('%s that is in use', (_, secret) => {
  const { right, guess, wrong } = secret;
  beforeAll(async () => {
    account = await vault.account();
    await account.key(USER);
  });

  test('is refused to a source that failed too often, right or wrong, on every server', async () => {
    const [busy, from] = [freshSource(), freshSource()];
    for (const at of [vault, second]) {
      expect(await right(busy, at)).toBe('200');
    }
    await lock(secret, from);
    for (const at of [vault, second]) {
      expect(await right(busy, at)).toBe('200');
      expect(await right(from, at)).toBe(LOCKED);
      expect(await guess(7, from, at)).toBe(LOCKED);
      expect(await right(freshSource(), at)).toBe('200');
    }
  });

  test('guessed between successes of another source is refused as soon', async () => {
    const [busy, from] = [freshSource(), freshSource()];
    const outcomes: string[] = [];
    for (let n = 0; n < FAILURES_MAX + 2; n++) {
      expect(await right(busy)).toBe('200');
      outcomes.push(await guess(n, from));
    }
    expect(outcomes).toEqual([...Array<string>(FAILURES_MAX).fill(wrong), LOCKED, LOCKED]);
    expect(await right(from)).toBe(LOCKED);
  });

  test('is open to a source that had succeeded before it failed, and to nobody who guesses from there', async () => {
    const from = freshSource();
    expect(await right(from)).toBe('200');
    await lock(secret, from);
    expect(await guess(1_000, from)).toBe(LOCKED);
    await Bun.sleep(CLEAR_AGAIN_MS + 1);
    expect(await right(from)).toBe('200');
    // A success clears the count and the lock of its source.
    expect(await guess(2_000, from)).toBe(wrong);
  });

  test('is open to such a source on a server that does not remember it, for a few guesses', async () => {
    const from = freshSource();
    expect(await right(from)).toBe('200');
    await lock(secret, from);
    for (let n = 0; n < FAILURES_MAX - 1; n++) {
      expect(await guess(3_000 + n, from, second)).toBe(LOCKED);
    }
    expect(await right(from, second)).toBe('200');
    // What the other server has sent is done before this.
    await second.opened.stores.accountStore.read(account.name);
    await lock(secret, from);
    const third = await vault.secondServer();
    try {
      for (let n = 0; n < FAILURES_MAX; n++) {
        expect(await guess(4_000 + n, from, third)).toBe(LOCKED);
      }
      expect(await right(from, third)).toBe(LOCKED);
    } finally {
      await third.close();
    }
    expect(await right(from)).toBe('200');
  });

  test('is tried as often as is allowed by forty guesses at one instant on two servers', async () => {
    const from = freshSource();
    expect(await right(freshSource())).toBe('200');
    const guesses = Array.from({ length: 40 }, (_, n) =>
      n === 39 ? right(from) : guess(n, from, n % 2 === 0 ? vault : second),
    );
    const outcomes = await Promise.all(guesses);
    expect(outcomes.filter((outcome) => outcome !== LOCKED).length).toBeLessThanOrEqual(FAILURES_MAX);
    expect(await right(from)).toBe(LOCKED);
  });

  test('is as locked when the clock of a server is put back or forward', async () => {
    const [busy, from] = [freshSource(), freshSource()];
    expect(await right(busy)).toBe('200');
    await lock(secret, from);
    for (const shift of [-86_400_000, 3_600_000]) {
      now += shift;
      expect(await right(from)).toBe(LOCKED);
      expect(await right(busy)).toBe('200');
      now -= shift;
    }
  });
});

describe('a lock', () => {
  test('lasts as long as is set, and its counters end by themselves and hold no address', async () => {
    account = await vault.account();
    await account.key(USER);
    const from = freshSource();
    await lock(PASSWORD, from);
    const other = freshSource();
    await lock(KEY, other);
    const headers = { authorization: basicAuth(account.name, 'x'), 'x-forwarded-for': from };
    const refused = await account.send('GET', '/whoami', { headers });
    const wait = Number(refused.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(LOCK_SECONDS - 60);
    expect(wait).toBeLessThanOrEqual(LOCK_SECONDS);
    const names = (await vault.raw.keys('*')).filter((name) => name.startsWith('{f:'));
    expect(names.length).toBeGreaterThan(3);
    for (const name of names) {
      expect([from, other].some((address) => name.includes(address))).toBe(false);
      expect(await vault.raw.pttl(name)).toBeGreaterThan(0);
    }
  });

  test('of a /48 follows from failures of some of its /64, except for one that had succeeded', async () => {
    account = await vault.account();
    await account.key(USER);
    for (const secret of [PASSWORD, KEY]) {
      const network = `2001:db8:${secret === KEY ? 'a' : 'b'}`;
      expect(await secret.right(`${network}:9::1`)).toBe('200');
      for (let n = 1; n <= 4; n++) {
        await lock(secret, `${network}:${n}::${n}`);
      }
      expect(await secret.guess(1, `${network}:5::1`)).toBe(LOCKED);
      expect(await secret.right(`${network}:5::1`)).toBe(LOCKED);
      expect(await secret.right(`${network}:9::2`)).toBe('200');
      expect(await secret.right('2001:db8:c:1::1')).toBe('200');
    }
  });

  test('comes between successes of the same source too, only later', async () => {
    account = await vault.account();
    const from = freshSource();
    const outcomes: string[] = [];
    for (let n = 0; n < 10 * FAILURES_MAX + 2; n++) {
      if (n % FAILURES_MAX === FAILURES_MAX - 1) {
        expect(await PASSWORD.right(from)).toBe('200');
      }
      outcomes.push(await PASSWORD.guess(n, from));
    }
    expect(outcomes.slice(-2)).toEqual([LOCKED, LOCKED]);
    expect(await PASSWORD.right(from)).toBe('200');
  });

  test('refuses hundreds of wrong passwords without a hash, and is of all addresses of a /64', async () => {
    account = await vault.account();
    const network = '2001:db8:d:1';
    await lock(PASSWORD, `${network}::1`);
    const { pool } = vault.opened;
    const run = pool.run.bind(pool);
    const kinds: unknown[] = [];
    Reflect.set(pool, 'run', (...given: Parameters<typeof run>) => {
      kinds.push(given[0].job.kind);
      return run(...given);
    });
    const outcomes = new Set<string>();
    for (let n = 0; n < 300; n++) {
      outcomes.add(await PASSWORD.guess(100 + n, `${network}::${n + 2}`));
    }
    Reflect.set(pool, 'run', run);
    expect([...outcomes]).toEqual([LOCKED]);
    expect(kinds).not.toContain(JOBS.verifyPassword.kind);
    expect(await PASSWORD.guess(1, '2001:db8:d:2::1')).toBe('401 unauthenticated');
    expect(await PASSWORD.right(freshSource())).toBe('200');
  });
});
