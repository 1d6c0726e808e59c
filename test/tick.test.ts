import { expect, test } from 'bun:test';
import { atTickEnd } from '../server/tick.ts';

const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('what is due runs at the end of the tick, in order, with what it adds behind all others', async () => {
  const seen: string[] = [];
  atTickEnd(() => {
    seen.push('first');
    atTickEnd(() => seen.push('added'));
  });
  atTickEnd(() => seen.push('second'));
  await Promise.resolve();
  expect(seen).toEqual([]);
  await nextTick();
  expect(seen).toEqual(['first', 'second', 'added']);
  atTickEnd(() => seen.push('next'));
  await nextTick();
  expect(seen.at(-1)).toBe('next');
});

test('nothing runs between those that are due', async () => {
  const seen: string[] = [];
  atTickEnd(() => {
    seen.push('first');
    queueMicrotask(() => seen.push('microtask'));
    setImmediate(() => seen.push('immediate'));
  });
  atTickEnd(() => seen.push('second'));
  await nextTick();
  await nextTick();
  expect(seen).toEqual(['first', 'second', 'microtask', 'immediate']);
});
