import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { readName } from '../../server/maintenance/store/census.ts';
import type { RecordKind } from '../../server/redis/records/kind.ts';
import { keyOf } from '../../server/redis/records/name.ts';
import { RECORD_KINDS } from '../../server/redis/records/registry.ts';

const KINDS: readonly (readonly [string, RecordKind])[] = Object.entries(RECORD_KINDS);
const BUCKET = { kid: 'kid', number: 3 };
const NO_BUCKET = { kid: '', number: 0 };

function nameOf({ name }: RecordKind): string {
  return name.scope === 'bucket' ? name.make(BUCKET, 'one') : keyOf(name, 'owner', 'one');
}

test.each(KINDS)('the name of %s is read as the name of nothing else', (_, kind) => {
  const all = KINDS.map(([, one]) => one);
  const found = readName(all, nameOf(kind));
  expect(found?.kind).toBe(kind);
  expect(readName(all.toReversed(), nameOf(kind))?.kind).toBe(kind);
});

test('whose a key is stands in its name', () => {
  const { keyRecord, item, endpoint, binTable } = RECORD_KINDS;
  const owners = [keyRecord, item, endpoint, binTable].map((kind) => readName([kind], nameOf(kind))?.owner);
  expect(owners).toEqual([
    { aid: 'owner', id: 'one', bucket: NO_BUCKET },
    { aid: '', id: 'one', bucket: BUCKET },
    { aid: '', id: 'one', bucket: NO_BUCKET },
    { aid: '', id: 'one', bucket: NO_BUCKET },
  ]);
});

const STRANGE = ['stranger', '{a}', '{x:y}', '{kid.3}z', '{e:id}x', '{e:}', '{bin}x', '{a:one}nothing', ''];
test.each(STRANGE)('%p is none', (name) => {
  expect(readName(Object.values(RECORD_KINDS), name)).toBeUndefined();
});

test('docs/storage.md has a row for every kind, and no other', async () => {
  const text = await Bun.file(join(import.meta.dir, '../../docs/storage.md')).text();
  const [, table = ''] = /\n## Keys\n(.*?)\n## /s.exec(text) ?? [];
  const cells = [...table.matchAll(/^\| (.*?) \|/gm)].map(([, cell = '']) => cell);
  const names = cells.flatMap((cell) => [...cell.matchAll(/`(.+?)`/g)].map(([, name = '']) => name));
  // A bucket's number is a letter there.
  const found = names.map((name) => readName(Object.values(RECORD_KINDS), name.replace('.B}', '.3}'))?.kind);
  expect(names.filter((_, at) => found[at] === undefined)).toEqual([]);
  expect(KINDS.filter(([, kind]) => !found.includes(kind)).map(([name]) => name)).toEqual([]);
});
