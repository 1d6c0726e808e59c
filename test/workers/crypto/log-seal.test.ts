import { describe, expect, test } from 'bun:test';
import {
  openLogEntry,
  renewLogRecord,
  sealLogEntry,
  tagOf,
  writerOfLog,
} from '../../../workers/crypto/log/entry.ts';
import { ServiceSealer } from '../../../workers/crypto/record/service-record.ts';
import { expectDamageRefused, expectRefused, filled, flipped, IDS, verifyWholeLog } from './fixture.ts';

const OLD = ['old', filled(32, 7)] as const;
const NEW = ['new', filled(32, 9)] as const;
function ringOf(writeId: string, ...keys: readonly (readonly [string, Uint8Array])[]) {
  return new ServiceSealer('staging', writeId, keys);
}
const before = ringOf('old', OLD);
const both = ringOf('new', NEW, OLD);
const after = ringOf('new', NEW);

const BASE = {
  timeMs: 1,
  action: 'decrypt',
  source: 'vault',
  outcome: 'ok',
  ip: '203.0.113.7',
  userAgent: 'x',
  endpoint: 'window',
  credential: '',
  credentialName: '',
  requestId: '5f0c9f5e-2d53-4c8e-9a39-0d4c7c1f6f2e',
} as const;
function chain(length: number, sealer = before): Uint8Array[] {
  const entries: Uint8Array[] = [];
  for (let seen = 0; seen < length; seen++) {
    const newest = entries.at(-1);
    const seenTag = newest ? tagOf(newest) : filled(16, 0);
    entries.push(sealLogEntry(sealer, IDS, { ...BASE, seenLength: seen, seenTag }));
  }
  return entries;
}

describe('an entry that is sealed again', () => {
  const entries = chain(5);
  const renewed = entries.map((entry) => renewLogRecord(both, IDS, entry));

  test('says the same, has the same name, and needs the old key no more', () => {
    for (const [i, entry] of entries.entries()) {
      const now = renewed[i] ?? entry;
      expect(openLogEntry(after, IDS, now)).toEqual(openLogEntry(before, IDS, entry));
      expect(tagOf(now)).toEqual(tagOf(entry));
      expect([writerOfLog(both, entry), writerOfLog(both, now)]).toEqual(['old', 'new']);
      expect(now.length).toBe(entry.length + 16);
    }
  });

  test('keeps its name and length when that happens once more', () => {
    const [entry = filled(0, 0)] = renewed;
    const third = ringOf('third', ['third', filled(32, 3)], NEW);
    const again = renewLogRecord(third, IDS, entry);
    expect([tagOf(again), again.length, writerOfLog(third, again)]).toEqual([
      tagOf(entry),
      entry.length,
      'third',
    ]);
  });

  test('leaves a log right, whichever are', () => {
    for (let mask = 0; mask < 32; mask++) {
      const mixed = entries.map((entry, i) => ((mask >> i) & 1 ? (renewed[i] ?? entry) : entry));
      expect(verifyWholeLog(both, IDS, mixed)).toBeUndefined();
    }
  });

  test('refuses damage, another name and other places', () => {
    const [first = filled(0, 0), second = filled(0, 0)] = renewed;
    expectDamageRefused(first, (bad) => openLogEntry(both, IDS, bad));
    const named = new Uint8Array([...first.subarray(0, -16), ...tagOf(second)]);
    expectRefused(() => openLogEntry(both, IDS, named));
    for (const other of [{ token: 't' }, { kid: 'k' }, { aid: 'a' }]) {
      expectRefused(() => openLogEntry(both, { ...IDS, ...other }, first));
    }
    expectRefused(() => openLogEntry(before, IDS, first));
    expect(verifyWholeLog(both, IDS, renewed.toSpliced(2, 1))).toBe(3);
  });

  test('is none where the entry did not open', () => {
    const [entry = filled(0, 0)] = entries;
    expectRefused(() => renewLogRecord(both, IDS, flipped(entry, 60)));
    expectRefused(() => renewLogRecord(after, IDS, entry));
  });
});
