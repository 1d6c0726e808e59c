import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { System } from '../../server/boot/assemble.ts';
import { KeyRotation } from '../../server/maintenance/rotate/rotate.ts';
import { RecordStore } from '../../server/maintenance/store/records.ts';
import { SurveyStore } from '../../server/maintenance/store/survey.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { commandJson, runCommand } from '../helpers/command.ts';
import { type Furnished, furnish } from '../helpers/furnish.ts';
import { CARD, localProxy } from '../helpers/proxy.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { type Copy, copyOf, putBack } from './copies.ts';

const OLD = ['old', new Uint8Array(32).fill(7)] as const;
const NEW = ['new', new Uint8Array(32).fill(9)] as const;
const OLD_FIRST = new Map([OLD, NEW]);
const NEW_FIRST = new Map([NEW, OLD]);
const NEW_ONLY = new Map([NEW]);
function WATCH() {
  return { seen: () => undefined, end: () => undefined };
}

// Every test opens servers of its own, with threads.
setDefaultTimeout(60_000);

let vault: TestVault;
let made: Furnished;
let whole: Copy;

beforeAll(async () => {
  vault = await openTestVault({ masterKeys: OLD_FIRST, jobs: false, proxy: await localProxy() });
  made = await furnish(vault);
  whole = await copyOf(vault.raw, '*');
});
// Every rotation starts with the old key alone, and with nothing that another test has left.
beforeEach(async () => {
  await vault.raw.flushall();
  await putBack(vault.raw, whole);
});
afterAll(() => vault.close());

async function joined<T>(
  masterKeys: ReadonlyMap<string, Uint8Array>,
  use: (server: TestVault) => Promise<T>,
): Promise<T> {
  const server = await vault.secondServer({ masterKeys });
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}

/** Reads what the account has, with its log. */
async function readAll(server: TestVault): Promise<void> {
  const client = made.client.via(server.handle);
  expect(JSON.parse(await client.open('u', made.card, { reference: 'order/1' }))).toEqual(CARD);
  await client.open('u', made.opened);
  const query = { user: 'u', token: made.opened, limit: -1 };
  expect((await client.send('GET', '/vault/metadata', { query })).outcome).toBe('200');
  for (const path of [
    '/rule',
    '/connection/pay',
    '/capture',
    '/retrieve',
    '/proxy/csr',
    '/proxy/cert',
    '/retrieve/iframe',
    '/certificate',
  ]) {
    expect(`${path} ${(await client.send('GET', path)).outcome}`).toBe(`${path} 200`);
  }
}

/** A rotation with stores of its own, which a test may change. */
function rotationOf({ crypto, masterKeys, now, redis, services, stores }: System) {
  const [recordStore, surveyStore] = [new RecordStore(redis), new SurveyStore(redis)];
  const { writeId } = masterKeys;
  const { walk } = services;
  const rotation = new KeyRotation(recordStore, surveyStore, stores.itemStore, crypto, walk, writeId, now);
  return { recordStore, surveyStore, rotation };
}

/** A rotation in a process that dies at its `last` + 1st write of a record. */
function dyingAt(system: System, last: number): KeyRotation {
  const { recordStore, surveyStore, rotation } = rotationOf(system);
  let writes = 0;
  const counted = <A extends readonly unknown[], R>(write: (...args: A) => Promise<R>) => {
    return (...args: A): Promise<R> => {
      writes += 1;
      return writes > last ? Promise.reject(new Error('killed')) : write(...args);
    };
  };
  const { stores } = system;
  type Found = Parameters<RecordStore['replace']>;
  type Items = Parameters<SurveyStore['replace']>;
  Object.assign(recordStore, { replace: counted((...args: Found) => stores.recordStore.replace(...args)) });
  Object.assign(surveyStore, { replace: counted((...args: Items) => stores.surveyStore.replace(...args)) });
  return rotation;
}

function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    ({ message }: Error) => message,
  );
}

describe('a rotation', () => {
  test.each([
    [0, NEW_FIRST],
    [4, OLD_FIRST],
    [15, NEW_FIRST],
  ])('that dies after %p writes is finished by the next one', async (last, ring) => {
    const before = ring === NEW_FIRST ? OLD_FIRST : NEW_FIRST;
    await joined(before, (server) => commandJson(server, 'rotate-master'));
    await joined(ring, async (server) => {
      expect(await failureOf(dyingAt(server.opened, last).rotate(WATCH))).toBe('killed');
      await readAll(vault);
      expect(await commandJson<object>(server, 'rotate-master')).toMatchObject({ done: true, lostTotal: 0 });
      await readAll(server);
    });
  });

  test('lets no server start with the new key alone before it is over', async () => {
    await joined(OLD_FIRST, (server) => commandJson(server, 'rotate-master'));
    await joined(NEW_FIRST, async (server) => {
      expect(await failureOf(dyingAt(server.opened, 12).rotate(WATCH))).toBe('killed');
      expect(await failureOf(vault.secondServer({ masterKeys: NEW_ONLY }))).toInclude('does not fit');
      await commandJson(server, 'rotate-master');
    });
    await joined(NEW_ONLY, readAll);
  });

  test('goes back as it came', async () => {
    await joined(NEW_FIRST, (server) => commandJson(server, 'rotate-master'));
    expect(await commandJson<object>(vault, 'rotate-master')).toMatchObject({ removable: ['new'] });
    await joined(new Map([OLD]), readAll);
  });

  test('goes on while records change under it, and comes to the root last', async () => {
    await joined(OLD_FIRST, (server) => commandJson(server, 'rotate-master'));
    await joined(NEW_FIRST, async (server) => {
      const { recordStore, surveyStore, rotation: rotating } = rotationOf(server.opened);
      const { stores } = server.opened;
      const written: string[] = [];
      let pass = 0;
      Object.assign(recordStore, {
        replace: async (...[found, record]: Parameters<RecordStore['replace']>) => {
          written.push(found.label);
          return pass > 1 && stores.recordStore.replace(found, record);
        },
      });
      Object.assign(surveyStore, {
        replace: async (...args: Parameters<SurveyStore['replace']>) => {
          written.push('item');
          return pass > 1 ? stores.surveyStore.replace(...args) : 0;
        },
      });
      const rotation = await rotating.rotate((number) => {
        pass = number;
        return WATCH();
      });
      expect(rotation).toMatchObject({ done: true, passes: [0, expect.any(Number), 0] });
      expect(written.indexOf('root')).toBe(written.length - 1);
    });
  });

  test('takes a long log with it, entry by entry, and it is still a log', async () => {
    const { client, kid, opened } = made;
    const { crypto, stores } = vault.opened;
    const { itemStore } = stores;
    const read = await itemStore.read(kid, opened);
    const { logTail, logLength: seen } = read ?? { logTail: Buffer.of(), logLength: 0 };
    const entry = {
      ...({
        action: 'decrypt',
        source: 'vault',
        outcome: 'ok',
        requestId: 'r',
        ip: '::1',
        userAgent: 'x',
        now: 1,
      } as const),
      ...{ aid: client.aid, kid, token: opened, seen },
    };
    const entries = await Promise.all(
      Array.from({ length: 1_200 }, () => crypto.sealLog({ params: entry, tail: logTail })),
    );
    await itemStore.appendLog(
      itemStore.bucketOf(kid, opened),
      entries.map(() => opened),
      entries,
    );
    const rotated = await joined(NEW_FIRST, (server) =>
      commandJson<{ keys: { log: object } }>(server, 'rotate-master'),
    );
    expect(rotated.keys.log).toEqual({ new: expect.any(Number) });
    await joined(NEW_ONLY, readAll);
  });

  test('and changes of passphrases and deletions of keys do not get into each other’s way', async () => {
    const { client } = made;
    let passphrase = PASSPHRASE;
    for (let n = 1; n <= 4; n++) {
      await client.key(`gone-${n}`);
      const next = `another passphrase, number ${n}`;
      const [changed, deleted, rotated] = await joined(n % 2 === 1 ? NEW_FIRST : OLD_FIRST, (server) =>
        Promise.all([
          client.send('PUT', '/key', { body: { user: 'u', passphrase, new_passphrase: next } }),
          client.send('DELETE', '/key', { query: { user: `gone-${n}` } }),
          commandJson<object>(server, 'rotate-master'),
        ]),
      );
      expect([changed.outcome, deleted.outcome]).toEqual(['200', '200']);
      expect(rotated).toMatchObject({ done: true });
      passphrase = next;
    }
  });

  test('names what opens under no key, and ends with 1', async () => {
    const name = `{a:${made.client.aid}}r`;
    const rule = await vault.raw.hgetBuffer(name, 'r');
    await vault.raw.hset(name, 'r', Buffer.from(rule ?? '').fill(0, 40, 44));
    const { code, out } = await joined(NEW_FIRST, (server) =>
      runCommand(['rotate-master', '--json'], { vault: server }),
    );
    expect(code).toBe(1);
    const lost = [{ kind: 'rule', account: made.client.name, place: 'r' }];
    expect(JSON.parse(out)).toMatchObject({ done: true, lostTotal: 1, lost });
  });
});
