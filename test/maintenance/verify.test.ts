import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { PASSPHRASE } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { type Furnished, furnish } from '../helpers/furnish.ts';
import { localProxy } from '../helpers/proxy.ts';
import { withoutPauses } from '../helpers/quick-timers.ts';
import { flip } from '../helpers/tampering.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { copyOf, putBack } from './copies.ts';

// What seems bad is looked at three more times within a second before it counts.
setDefaultTimeout(60_000);

interface Found {
  readonly ok: boolean;
  readonly checked: Readonly<Record<string, number>>;
  readonly bad: Readonly<Record<string, number>>;
  readonly unfinished: Readonly<Record<string, number>>;
  readonly faults: readonly { readonly kind: string; readonly account: string; readonly place: string }[];
}

let vault: TestVault;
let made: Furnished;

beforeAll(async () => {
  vault = await openTestVault({ jobs: false, proxy: await localProxy() });
  made = await furnish(vault);
});
afterAll(() => vault.close());

type Verified = Found & { readonly code: number };

async function verifyOf(of: TestVault, ...args: readonly string[]): Promise<Verified> {
  const { code, out } = await runCommand(['verify', '--json', ...args], { vault: of });
  return { code, ...(JSON.parse(out) as Found) };
}
function verify(...args: readonly string[]): Promise<Verified> {
  return verifyOf(vault, ...args);
}
function bucketOf(token: string): string {
  const { kid, number } = vault.opened.stores.itemStore.bucketOf(made.kid, token);
  return `{${kid}.${number}}`;
}
function itemOf(token: string): string {
  return `${bucketOf(token)}i${token}`;
}

/** Does harm, verifies, and puts everything back as it was. */
async function damaged(harm: () => Promise<unknown>): Promise<string[]> {
  const copy = await copyOf(vault.raw, '*');
  try {
    await harm();
    const { code, faults, ok } = await withoutPauses(verify);
    expect([code, ok]).toEqual([1, false]);
    return faults.map(({ kind, place }) => `${kind} ${place}`);
  } finally {
    await vault.raw.flushall();
    await putBack(vault.raw, copy);
  }
}

test('a vault with a record of every kind is right', async () => {
  const { code, ok, checked, faults, unfinished } = await verify();
  expect({ code, ok, faults, unfinished }).toEqual({ code: 0, ok: true, faults: [], unfinished: {} });
  expect(checked).toMatchObject({
    ...{
      root: 1,
      account: 1,
      key: 2,
      rule: 1,
      csr: 1,
      'csr key': 1,
      certificate: 1,
      form: 1,
      job: 4,
      'event subscription': 1,
      credential: 2,
      connection: 1,
    },
    ...{ endpoint: 3, 'endpoint wrap': 3, reply: 1, item: 5, sad: 1, identity: 1, fence: 32 },
  });
  expect((await verify('--account', made.client.name)).checked['item']).toBe(5);
  expect((await runCommand(['verify', '--account', 'nobody'], { vault })).code).toBe(1);
});

describe('a flipped bit is found in', () => {
  const inField = async (key: string, field: string): Promise<void> => {
    const value = (await vault.raw.hgetBuffer(key, field)) ?? Buffer.alloc(0);
    expect(value.length).toBeGreaterThan(0);
    await vault.raw.hset(key, field, flip(value, value.length >> 1));
  };
  const own = (rest: string): string => `{a:${made.client.aid}}${rest}`;
  test.each([
    ['account', () => inField('{accounts}', made.client.name)],
    ['rule r', () => inField(own('r'), 'r')],
    ['connection pay', () => inField(own('cn'), 'pay')],
    ['csr', () => inField(own('q'), made.csr)],
    ['csr key', () => inField(own('qk'), made.csr)],
    ['certificate', () => inField(own('qc'), made.certificate)],
    ['job', () => inField(own(`j:${made.job}`), 'r')],
    ['endpoint', () => inField(`{e:${made.capture.unique_id}}`, 'p')],
    ['endpoint wrap', () => inField(`{e:${made.retrieve.unique_id}}`, 'w')],
    ['form', () => inField(`{h:f-${made.client.name}}`, 's')],
    ['item', () => inField(itemOf(made.card), 'c')],
    ['item', () => inField(itemOf(made.opened), 'm')],
    ['log', () => inField(itemOf(made.opened), '2')],
  ])('%s', async (kind, harm) => {
    expect((await damaged(harm)).some((fault) => fault.startsWith(kind))).toBe(true);
  });

  test('a key, a kept reply, and verification codes', async () => {
    const { client } = made;
    const key = own('k:u');
    expect(
      await damaged(async () => {
        await vault.raw.set(key, flip((await vault.raw.getBuffer(key)) ?? Buffer.alloc(0), 60));
      }),
    ).toContain('key u');
    const [reply = ''] = await vault.raw.keys('{d:*');
    expect(await damaged(() => inField(reply, 'r'))).toEqual([`reply ${reply.slice(3, -1)}`]);
    const sad = `${bucketOf(made.card)}s${made.card}`;
    expect(
      await damaged(async () =>
        vault.raw.set(sad, flip((await vault.raw.getBuffer(sad)) ?? Buffer.alloc(0), 90)),
      ),
    ).toEqual([`sad u/${made.card}`]);
    expect(await damaged(() => vault.raw.del(sad))).toEqual([`sad u/${made.card}`]);
    expect(client.name.length).toBeGreaterThan(0);
  });

  test('a recovery, also where it is only not there, or one of a key that has none', async () => {
    const [name, other] = [own('kr:empty'), own('kr:u')];
    const record = (await vault.raw.getBuffer(name)) ?? Buffer.alloc(0);
    expect(await damaged(() => vault.raw.set(name, flip(record, 90)))).toEqual(['recovery empty']);
    expect(await damaged(() => vault.raw.del(name))).toEqual(['recovery empty']);
    expect(await damaged(() => vault.raw.set(other, record))).toEqual(['recovery u']);
  });
});

describe('of items it finds', () => {
  const place = () => `u/${made.opened}`;
  const times = () => `${bucketOf(made.opened)}t`;

  test('contents and metadata that were swapped or rolled back', async () => {
    const [one, two] = [itemOf(made.card), itemOf(made.opened)];
    const swapped = async (field: string): Promise<void> => {
      const [a, b] = [await vault.raw.hgetBuffer(one, field), await vault.raw.hgetBuffer(two, field)];
      await vault.raw.hset(one, field, b ?? '');
      await vault.raw.hset(two, field, a ?? '');
    };
    for (const field of ['c', 'm', '1']) {
      const found = await damaged(() => swapped(field));
      expect(
        found.filter((fault) => fault.endsWith(`/${made.card}`) || fault.endsWith(`/${made.opened}`)).length,
      ).toBeGreaterThan(1);
    }
    const before = (await vault.raw.hgetBuffer(two, 'c')) ?? '';
    const query = { user: 'u', token: made.opened };
    await made.client.send('POST', '/vault/update', { query, passphrase: PASSPHRASE, body: { more: 1 } });
    expect(await damaged(() => vault.raw.hset(two, 'c', before))).toEqual([`item ${place()}`]);
  });

  test('logs that were cut in the middle, or are shorter than they say', async () => {
    const key = itemOf(made.opened);
    expect(await damaged(() => vault.raw.hdel(key, '2'))).toEqual([`log ${place()}`]);
    expect(
      await damaged(async () => {
        const all = await vault.raw.hgetallBuffer(key);
        const n = Number(all['n']?.subarray(0, -16));
        for (let at = 2; at < n; at++) {
          await vault.raw.hset(key, String(at), all[String(at + 1)] ?? '');
        }
        await vault.raw.hdel(key, String(n));
        await vault.raw.hset(key, 'n', n - 1);
      }),
    ).toEqual(expect.arrayContaining([`log ${place()}`]));
  });

  test('entries that are missing in an index, and entries of nothing', async () => {
    const references = `${bucketOf(made.card)}r`;
    expect(await damaged(() => vault.raw.zrem(times(), made.opened))).toContain(
      `key name ${itemOf(made.opened)}`,
    );
    expect(await damaged(() => vault.raw.zadd(times(), 5, 'nothing'))).toEqual(
      expect.arrayContaining(['time index u/nothing']),
    );
    expect(await damaged(() => vault.raw.del(itemOf(made.opened)))).toEqual(
      expect.arrayContaining([`time index ${place()}`]),
    );
    expect(await damaged(() => vault.raw.del(references))).toContain(`reference index u/${made.card}`);
    const token = Buffer.from(made.opened);
    const foreign = Buffer.concat([Buffer.from('xx'), token, Buffer.of(0, token.length)]);
    expect(await damaged(() => vault.raw.zadd(`${bucketOf(made.opened)}r`, 0, foreign))).toEqual([
      `reference index ${place()}`,
    ]);
  });

  test('fences that no key has set, and keys that nobody owns', async () => {
    const fence = `${bucketOf(made.opened)}f`;
    expect((await damaged(() => vault.raw.hset(fence, 'g', 9)))[0]).toStartWith('fence u/bucket');
    const names = ['{nobody.3}t', 'stranger', '{a:nobody}r', '{e:lost}'];
    const found = await damaged(async () => {
      await vault.raw.zadd('{nobody.3}t', 1, 'x');
      await vault.raw.set('stranger', 1);
      await vault.raw.hset('{a:nobody}r', 'r', 'x');
      await vault.raw.hset('{e:lost}', 'n', 'x', 'a', made.client.aid, 'p', 'x');
    });
    expect(found.sort()).toEqual(names.map((name) => `key name ${name}`).sort());
  });
});

test('it finds nothing while clients write, delete and change passphrases', async () => {
  const own = await openTestVault();
  const client = await own.account();
  await Promise.all([client.key('u'), client.key('busy')]);
  let running = true;
  let passphrase = PASSPHRASE;
  const work = async (writer: number): Promise<void> => {
    for (let n = 0; running; n++) {
      const token = await client.store(
        'u',
        { card_number: `${writer}00${n}`, cvv: '123' },
        { reference: `r${writer}` },
      );
      const query = { user: 'u', token, reference: `r${writer}` };
      await client.send('GET', '/vault', { query, passphrase: PASSPHRASE });
      if (n % 3 > 0) {
        await client.send('DELETE', '/vault', { query });
      }
    }
  };
  const change = async (): Promise<void> => {
    for (let n = 0; running; n++) {
      const next = `another passphrase, number ${n}`;
      const body = { user: 'busy', passphrase, new_passphrase: next };
      expect((await client.send('PUT', '/key', { body })).outcome).toBe('200');
      passphrase = next;
    }
  };
  const loads = [...Array.from({ length: 20 }, (_, writer) => work(writer + 1)), change()];
  const found = [await verifyOf(own), await verifyOf(own), await verifyOf(own)];
  running = false;
  await Promise.all(loads);
  expect(found.map(({ bad }) => bad)).toEqual([{}, {}, {}]);
  await own.close();
});
