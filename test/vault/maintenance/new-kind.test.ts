import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { createCensusStore } from '../../../server/store/maintenance/census.ts';
import { createRecordStore } from '../../../server/store/maintenance/record.ts';
import type { Owner, RecordKind, Seal } from '../../../server/store/records/kind.ts';
import { accountName, accountNames, idName, keyOf, vaultName } from '../../../server/store/records/name.ts';
import { RECORD_KINDS, type RecordKinds } from '../../../server/store/records/registry.ts';
import type { AccountClient } from '../../helpers/clients.ts';
import { commandJson, runCommand } from '../../helpers/command.ts';
import { withoutPauses } from '../../helpers/quick-timers.ts';
import type { TestVault } from '../../helpers/vault.ts';
import { flip } from '../tampering.ts';
import { masterKeyOf, useRestores } from './restores.ts';

setDefaultTimeout(60_000);

const OLD = ['old', masterKeyOf()] as const;
const NEW = ['new', masterKeyOf(41)] as const;

function sealOf(label: string) {
  return ({ aid, id }: Owner): Seal => ({
    label,
    place: { purpose: 'record', account: aid, kind: label, path: [id] },
  });
}

const directory = accountName('fake-d');
/** A kind of each shape that a registry can describe. */
const FAKES = {
  fakeHash: {
    name: accountName('fake-h'),
    sealed: { kind: 'entries', seal: sealOf('fake hash') },
    backup: 'whole',
  },
  fakeDirectory: { name: directory, backup: 'directory' },
  fakeValue: {
    name: accountNames('fake-v:'),
    sealed: { kind: 'value', seal: sealOf('fake value') },
    listed: {
      directory,
      order: 'member',
      entryOf: (id) => ({ id, nonce: '' }),
      missing: { label: 'fake directory', what: 'an entry has no value', state: 'bad' },
    },
    backup: 'listed',
  },
  fakeScanned: {
    name: idName('y'),
    sealed: {
      kind: 'fields',
      reads: ['r'],
      seals: ({ id }) => [{ field: 'r', ...sealOf('fake scanned')({ aid: '', id }) }],
    },
    backup: 'scanned',
    restored: (stored) => new Map([...stored, ['b', Buffer.from('back')]]),
  },
  fakeSingle: {
    name: vaultName('fake'),
    sealed: {
      kind: 'fields',
      reads: ['r'],
      seals: () => [{ field: 'r', ...sealOf('fake single')({ aid: '', id: 'one' }) }],
    },
    backup: 'whole',
  },
} as const satisfies Readonly<Record<string, RecordKind>>;

const LABELS = ['fake hash', 'fake value', 'fake scanned', 'fake single'] as const;
type Label = (typeof LABELS)[number];
const KINDS = { ...RECORD_KINDS, ...FAKES };

/** A server that knows these kinds. */
function knowing(vault: TestVault, kinds: RecordKinds): TestVault {
  const { opened } = vault;
  const [recordStore, censusStore] = [
    createRecordStore(opened.redis, kinds),
    createCensusStore(opened.redis, kinds),
  ];
  return { ...vault, opened: { ...opened, stores: { ...opened.stores, recordStore, censusStore } } };
}

interface Place {
  readonly key: string;
  /** Left out where the key is a string. */
  readonly field?: string;
}

const stores = useRestores();
let vault: TestVault;
let client: AccountClient;
let places: Readonly<Record<Label, Place>>;

beforeAll(async () => {
  const plain = await stores.open({ masterKeys: new Map([OLD]), alone: true, jobs: false });
  vault = knowing(plain, KINDS);
  client = await vault.account();
  await client.key('u');
  const { aid } = client;
  const { fakeHash, fakeValue, fakeScanned, fakeSingle } = FAKES;
  places = {
    'fake hash': { key: fakeHash.name.make(aid), field: 'one' },
    'fake value': { key: fakeValue.name.make(aid, 'one') },
    'fake scanned': { key: fakeScanned.name.make('one'), field: 'r' },
    'fake single': { key: keyOf(fakeSingle.name, '', ''), field: 'r' },
  };
  for (const label of LABELS) {
    const account = label === 'fake hash' || label === 'fake value' ? aid : '';
    const { place } = sealOf(label)({ aid: account, id: 'one' });
    await write(places[label], Buffer.from(await seal(place, label)));
  }
  await vault.raw.pexpire(places['fake scanned'].key, 3_600_000);
  await vault.raw.zadd(directory.make(aid), 0, 'one');
});
function seal({ purpose, ...place }: Seal['place'], text: string): Promise<Uint8Array> {
  if (purpose === 'audit') {
    throw new Error('no fake is an entry of a log');
  }
  return vault.opened.crypto.sealRecord({ place: { purpose, ...place }, plaintext: Buffer.from(text) });
}
function write({ key, field }: Place, bytes: Buffer): Promise<unknown> {
  return field === undefined ? vault.raw.set(key, bytes) : vault.raw.hset(key, field, bytes);
}
async function read({ key, field }: Place, raw = vault.raw): Promise<Buffer> {
  return (await (field === undefined ? raw.getBuffer(key) : raw.hgetBuffer(key, field))) ?? Buffer.alloc(0);
}

interface Verified {
  readonly ok: boolean;
  readonly checked: Readonly<Record<string, number>>;
  readonly keys: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly faults: readonly { readonly kind: string; readonly place: string; readonly what: string }[];
}
async function verify(by = vault): Promise<Verified> {
  const { out } = await withoutPauses(() => runCommand(['verify', '--json'], { vault: by }));
  return JSON.parse(out) as Verified;
}
async function faultsOf(by = vault): Promise<string[]> {
  return (await verify(by)).faults.map(({ kind, place }) => `${kind} ${place}`);
}

describe('a kind that is an entry of the registry', () => {
  test('is verified and counted, by the key that it is under', async () => {
    const { ok, checked, keys, faults } = await verify();
    expect({ ok, faults }).toEqual({ ok: true, faults: [] });
    for (const label of LABELS) {
      expect([label, checked[label], keys[label]]).toEqual([label, 1, { old: 1 }]);
    }
  });

  test.each([...LABELS])('is found damaged where it was tampered with: %s', async (label) => {
    const before = await read(places[label]);
    await write(places[label], flip(before, before.length >> 1));
    expect(await faultsOf()).toEqual([`${label} one`]);
    await write(places[label], before);
    expect(await faultsOf()).toEqual([]);
  });

  test('is missed where its directory names it', async () => {
    await vault.raw.zadd(directory.make(client.aid), 0, 'two');
    expect(await faultsOf()).toEqual(['fake directory two']);
    await vault.raw.zrem(directory.make(client.aid), 'two');
  });

  test('has an owner, or the census names it', async () => {
    const stray = FAKES.fakeHash.name.make('nobody');
    await vault.raw.hset(stray, 'one', 'x');
    const { faults } = await verify();
    expect(faults).toMatchObject([{ kind: 'key name', place: stray, what: 'its account is not there' }]);
    await vault.raw.del(stray);
  });

  test('goes with its account where it is one value', async () => {
    const key = FAKES.fakeHash.name.make('removed');
    await vault.raw.hset(key, 'one', 'x');
    await vault.opened.stores.recordStore.removeWhole('removed');
    expect(await vault.raw.exists(key)).toBe(0);
  });

  test('comes back from a backup as it was, or as its entry says', async () => {
    const { file } = await stores.backup(vault);
    await stores.restored(file, async (copy) => {
      const { raw } = copy;
      for (const label of LABELS) {
        expect((await read(places[label], raw)).equals(await read(places[label]))).toBe(true);
      }
      expect(await raw.zrange(directory.make(client.aid), '0', '-1')).toEqual(['one']);
      expect(await raw.hget(places['fake scanned'].key, 'b')).toBe('back');
      expect(await raw.pttl(places['fake scanned'].key)).toBeGreaterThan(0);
      expect(await verify(knowing(copy, KINDS))).toMatchObject({ ok: true });
    });
  });

  test('is re-encrypted with the others when the master key is rotated', async () => {
    const both = await vault.secondServer({ masterKeys: new Map([NEW, OLD]) });
    const rotated = await commandJson<Verified>(knowing(both, KINDS), 'rotate-master');
    expect(rotated).toMatchObject({ done: true, lostTotal: 0 });
    await both.close();
    const alone = await vault.secondServer({ masterKeys: new Map([NEW]) });
    const { ok, keys } = await verify(knowing(alone, KINDS));
    expect(ok).toBe(true);
    for (const label of LABELS) {
      expect([label, rotated.keys[label], keys[label]]).toEqual([label, { new: 1 }, { new: 1 }]);
    }
    await alone.close();
    const back = await vault.secondServer({ masterKeys: new Map([OLD, NEW]) });
    expect(await commandJson<object>(knowing(back, KINDS), 'rotate-master')).toMatchObject({ done: true });
    await back.close();
  });
});

test('a key that no entry of the registry names is reported by its name', async () => {
  const found = await faultsOf(knowing(vault, RECORD_KINDS));
  const keys = [...Object.values(places).map(({ key }) => key), directory.make(client.aid)];
  expect(found.sort()).toEqual(keys.map((key) => `key name ${key}`).sort());
});
