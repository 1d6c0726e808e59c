import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type AccountClient, answerOf, basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { scrape } from '../helpers/metrics.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

/** More than a stream reads ahead. */
const ITEMS = 300;
const OPENS_PER_ACCOUNT = 4;
const OPENS_WAITING = 12;
/** More than one owner gets of any class of requests. */
const MANY = 10_000;

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ trustedProxies: ['127.0.0.0/8'] });
  account = await vault.account();
  await account.key('u');
  await Promise.all(
    Array.from({ length: ITEMS }, (_, n) =>
      account.store('u', { card_number: '4111111111111111' }, { reference: `r-${n}` }),
    ),
  );
});

afterAll(() => vault.close());

/** Requests that have started or wait, of all classes. */
function inFlight(): number {
  const { write, read, list, open } = vault.opened.services.limiter.stats();
  return [write, read, list, open].reduce((sum, { used, waiting }) => sum + used + waiting, 0);
}

/** Acquires all that an owner gets of a class, also what it has to wait for; returns the release of it. */
function fill(work: 'write' | 'read' | 'list', owner: string): () => void {
  const { limiter } = vault.opened.services;
  const granted: (Promise<void> | undefined)[] = [];
  try {
    while (granted.length < MANY) {
      const each = limiter.acquire(work, owner);
      each?.catch(() => undefined);
      granted.push(each);
    }
  } catch {
    // All that one owner gets.
  }
  return () => {
    for (const each of granted) {
      if (each === undefined) {
        limiter.release(work, owner);
      } else {
        each.then(
          () => limiter.release(work, owner),
          () => undefined,
        );
      }
    }
  };
}

async function openAll(client = account, user = 'u'): Promise<Response> {
  return vault.handle(
    new Request(`http://localhost/v1/vault?user=${user}&decrypt_all=true&limit=-1`, {
      headers: {
        authorization: basicAuth(client.name, client.password),
        'x-vault-passphrase': encodeURIComponent(PASSPHRASE),
      },
    }),
  );
}

test('an account reads a few whole keys at once, and some wait; a reader who goes away or ends makes room', async () => {
  expect(inFlight()).toBe(0);
  const streams = await Promise.all(Array.from({ length: OPENS_PER_ACCOUNT }, () => openAll()));
  expect(streams.map(({ status }) => status)).toEqual(Array(OPENS_PER_ACCOUNT).fill(200));
  expect((await scrape(vault.handle)).value('vault_work_in_flight', { class: 'open' })).toBe(
    OPENS_PER_ACCOUNT,
  );
  const line = Array.from({ length: OPENS_WAITING }, () => openAll());
  // The first to be answered is the one for whom the line is too long.
  const refused = await answerOf(await Promise.race([...line, openAll()]));
  expect([refused.outcome, refused.headers.get('retry-after')]).toEqual(['503 overloaded', '1']);

  const other = await vault.account();
  await other.key('own');
  expect(await (await openAll(other, 'own')).text()).toBe('{"own":[]}');
  expect((await account.send('GET', '/vault', { query: { user: 'u', limit: -1 } })).status).toBe(200);

  const [gone, read, ...rest] = streams;
  await gone?.body?.cancel();
  expect(Object.values(JSON.parse((await read?.text()) ?? '{}'))[0]).toHaveLength(ITEMS);
  await Promise.all(rest.map((stream) => stream.body?.cancel()));
  for (const stream of line) {
    const { status, body } = await stream;
    expect(status).toBe(200);
    await body?.cancel();
  }
  expect(inFlight()).toBe(0);
});

test('a listing that is refused gives its place back', async () => {
  for (let n = 0; n < 40; n++) {
    const query = { user: 'u', limit: 10, next_token: 'forged' };
    expect((await account.send('GET', '/vault', { query })).outcome).toBe('400 cursor_invalid');
  }
  expect(inFlight()).toBe(0);
});

test('who may not begin is told so in a moment, and others still may', async () => {
  const release = fill('write', account.aid);
  const startedMs = performance.now();
  const refused = await account.send('POST', '/vault', {
    query: { user: 'u' },
    passphrase: PASSPHRASE,
    body: { card_number: '4111111111111111' },
  });
  expect(refused.outcome).toBe('503 overloaded');
  expect(performance.now() - startedMs).toBeLessThan(20_000);
  const other = await vault.account();
  await other.key('own');
  expect(await other.open('own', await other.store('own', { card_number: '4111111111111111' }))).toContain(
    '4111',
  );
  expect((await vault.handle(new Request('http://localhost/health/ready'))).status).toBe(200);
  release();
  expect((await account.send('GET', '/whoami')).status).toBe(200);
});

test.each(['/proxy/csr', '/proxy/cert'])('GET %s is a short request, and no call of others', async (path) => {
  const release = fill('read', account.aid);
  expect((await account.send('GET', path)).outcome).toBe('503 overloaded');
  release();
  expect((await account.send('GET', path)).outcome).toBe('200');
});

test('whoever has a whole IPv6 network has the places of one caller', async () => {
  const release = fill('read', '2001:db8:1:2::/64');
  const from = (ip: string) =>
    account.send('GET', '/retrieve/nobody', {
      headers: { 'x-forwarded-for': ip, 'x-vault-retrieve-secret': 'x' },
    });
  expect((await from('2001:db8:1:2::5')).outcome).toBe('503 overloaded');
  expect((await from('2001:db8:1:2:ffff::6')).outcome).toBe('503 overloaded');
  expect((await from('2001:db8:1:3::5')).outcome).toBe('403 endpoint_refused');
  release();
});

test('a whole security log has the place of a listing, from its beginning until nobody reads it any more', async () => {
  const { limiter } = vault.opened.services;
  const readAll = () =>
    vault.handle(
      new Request('http://localhost/v1/audit?limit=-1', {
        headers: { authorization: basicAuth(account.name, account.password) },
      }),
    );
  const unread = await readAll();
  expect([unread.status, limiter.stats().list.used]).toEqual([200, 1]);
  await unread.body?.cancel();
  expect(limiter.stats().list.used).toBe(0);
  expect(JSON.parse(await (await readAll()).text()).length).toBeGreaterThan(0);
  expect(limiter.stats().list.used).toBe(0);

  const release = fill('list', account.aid);
  expect((await answerOf(await readAll())).outcome).toBe('503 overloaded');
  release();
  expect(inFlight()).toBe(0);
});
