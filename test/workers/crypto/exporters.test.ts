/** Exporter secrets that are kept between requests open under their own key and place only. */
import { expect, spyOn, test } from 'bun:test';
import { keepExporter, keptExporter } from '../../../workers/crypto/item/exporters.ts';
import { utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { filled, toHex } from './fixture.ts';

const OWNER_KEY = filled(32, 1);
const PLACE = utf8('place');

/** What is recalled, and whether it had to be computed. */
function recall(enc: string, { ownerKey = OWNER_KEY, place = PLACE, value = 9 } = {}) {
  const kept = keptExporter(ownerKey, enc, place);
  if (kept === undefined) {
    keepExporter(ownerKey, enc, place, filled(32, value));
  }
  return { secret: toHex(kept ?? filled(32, value)), isComputed: kept === undefined };
}

test('a secret is computed once, and never recalled for another key, place or name', () => {
  const secret = toHex(filled(32, 9));
  expect(recall('one')).toEqual({ secret, isComputed: true });
  expect(recall('one', { value: 1 })).toEqual({ secret, isComputed: false });
  const other = toHex(filled(32, 5));
  const others = [{ ownerKey: filled(32, 2) }, { place: utf8('elsewhere') }];
  for (const changes of others) {
    expect(recall('one', { ...changes, value: 5 })).toEqual({ secret: other, isComputed: true });
    recall('one');
  }
  expect(recall('two', { value: 5 })).toEqual({ secret: other, isComputed: true });
});

test('what the caller wipes is not what is kept', () => {
  const mine = filled(32, 9);
  keepExporter(OWNER_KEY, 'wiped', PLACE, mine);
  mine.fill(0);
  keptExporter(OWNER_KEY, 'wiped', PLACE)?.fill(0);
  expect(recall('wiped')).toEqual({ secret: toHex(filled(32, 9)), isComputed: false });
});

test('the oldest of too many is computed again', () => {
  recall('first');
  for (let i = 0; i < 40_000; i++) {
    recall(`other ${i}`);
  }
  expect(recall('other 39999').isComputed).toBe(false);
  expect(recall('first').isComputed).toBe(true);
});

test('none is recalled a minute after it was made, however often it was used', () => {
  // A whole number, so that differences are exact.
  let nowMs = Math.ceil(performance.now());
  const clock = spyOn(performance, 'now').mockImplementation(() => nowMs);
  try {
    recall('aged');
    nowMs += 59_999;
    expect(recall('aged').isComputed).toBe(false);
    nowMs += 1;
    expect(recall('aged').isComputed).toBe(true);
    expect(recall('aged').isComputed).toBe(false);
  } finally {
    clock.mockRestore();
  }
});

test('and none stays in memory after that, when nobody asks', () => {
  // A whole number, so that differences are exact.
  let nowMs = Math.ceil(performance.now());
  let ring: () => void = () => undefined;
  let delayMs: number | undefined;
  const clock = spyOn(performance, 'now').mockImplementation(() => nowMs);
  const timer = spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms?: number) => {
    [ring, delayMs] = [work, ms];
    return { unref: () => undefined };
  }) as never);
  const forgotten = spyOn(Map.prototype, 'delete');
  try {
    // Later than any other test has been.
    nowMs += 300_000;
    recall('left');
    expect(Math.round(Number(delayMs) / 100)).toBe(600);
    forgotten.mockClear();
    nowMs += 60_001;
    ring();
    expect(forgotten.mock.calls.at(-1)).toEqual(['left']);
  } finally {
    forgotten.mockRestore();
    timer.mockRestore();
    clock.mockRestore();
  }
});
