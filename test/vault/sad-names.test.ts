import { afterAll, expect, test } from 'bun:test';
import * as published from '../../server/domain/card/gateway-names.ts';
import { SAD_NAMES } from '../../server/domain/card/sensitive-names.ts';
import { openTestVault } from '../helpers/vault.ts';

/** Longer than a test takes, on a busy machine too. */
const TTL_MS = 60_000;
const MEMBERS = 250;
const CODE = '737';

let ahead = 0;

const vault = await openTestVault({ sadTtlMs: TTL_MS, now: () => Date.now() + ahead });
const masked = await vault.account({ unmasked: false });
const unmasked = await vault.account();
await Promise.all([masked.key('u'), unmasked.key('u')]);
afterAll(() => vault.close());

/** Every name of the list, with those of gateways as they write them, in parts that one item can have. */
function lists(): string[][] {
  const written = Object.values(published).flatMap((table) => table.flatMap(({ names }) => names.split(' ')));
  const names = [...new Set([...written, ...SAD_NAMES])];
  return Array.from({ length: Math.ceil(names.length / MEMBERS) }, (_, at) =>
    names.slice(at * MEMBERS, (at + 1) * MEMBERS),
  );
}

test.each(lists().map((names) => [`${names[0]} to ${names.at(-1)}`, names] as const))(
  'codes, tracks and PINs are masked, and gone after their time: %s',
  async (_, names) => {
    const codes = Object.fromEntries(names.map((name) => [name, CODE]));
    const card = { n: `99${names.length}${SAD_NAMES.size}`, CardCode2: 'VI', deep: [{ holder: 'Ada' }] };
    const stored = { ...card, ...codes, deep: [{ holder: 'Ada', ...codes }] };
    const hidden = Object.fromEntries(names.map((name) => [name, '***']));
    const token = await masked.store('u', stored);
    const seen = JSON.parse(await masked.open('u', token));
    expect(seen).toEqual({ ...stored, ...hidden, n: seen.n, deep: [{ holder: 'Ada', ...hidden }] });
    const other = await unmasked.store('u', stored);
    expect(JSON.parse(await unmasked.open('u', other))).toEqual(stored);
    ahead = TTL_MS + 1;
    try {
      expect(JSON.parse(await masked.open('u', token))).toEqual({ ...card, n: seen.n });
      expect(JSON.parse(await unmasked.open('u', other))).toEqual(card);
    } finally {
      ahead = 0;
    }
  },
);

test('what has such a name and is none stays', async () => {
  const card = { number: '4111111111111111', CardCode: 'VI', track: true, verification: { status: 'ok' } };
  const token = await unmasked.store('u', card);
  ahead = TTL_MS + 1;
  try {
    expect(JSON.parse(await unmasked.open('u', token))).toEqual(card);
  } finally {
    ahead = 0;
  }
  const own = await masked.store('u', card);
  expect(JSON.parse(await masked.open('u', own))).toEqual({ ...card, number: '************1111' });
});
