import { describe, expect, test } from 'bun:test';
import type { Crypto } from '../../server/crypto/client.ts';
import { Admission } from '../../server/limits/admission.ts';
import { createContext, type RequestContext } from '../../server/request/context.ts';
import type { Metering } from '../../server/request/metering.ts';
import { ItemPages } from '../../server/vault/list/page.ts';
import type { ItemStore } from '../../server/vault/store/items.ts';
import { stub } from '../http/stub-endpoints.ts';

const ACCOUNT = { aid: '' } as NonNullable<RequestContext['account']>;

function createWorld() {
  let now = 0;
  const admission = new Admission(() => now);
  const contextOf = (isPublic: boolean): RequestContext =>
    Object.assign(createContext({ requestId: '', ip: '', userAgent: '', source: 'vault' }), {
      account: isPublic ? undefined : ACCOUNT,
    });
  return {
    admission,
    pass: (ms: number) => {
      now += ms;
    },
    /** One short request that is over at once; `isPublic`: without credentials. */
    ask(owner: string, isPublic = false): void {
      const ctx = contextOf(isPublic);
      void admission.enter(ctx, 'read', owner);
      admission.leave(ctx);
    },
    /** Requests of one owner that do not end; gives what releases them. */
    hold(owner: string, count: number): readonly RequestContext[] {
      return Array.from({ length: count }, () => {
        const ctx = contextOf(false);
        void admission.enter(ctx, 'write', owner);
        return ctx;
      });
    },
  };
}

describe('an account is alone', () => {
  test('until somebody else asks, and again a second after that', () => {
    const world = createWorld();
    world.ask('a');
    expect([world.admission.isAlone('a'), world.admission.isAlone('b')]).toEqual([true, false]);
    world.pass(500);
    world.ask('b');
    expect([world.admission.isAlone('a'), world.admission.isAlone('b')]).toEqual([false, false]);
    world.pass(501);
    expect([world.admission.isAlone('a'), world.admission.isAlone('b')]).toEqual([false, true]);
    world.pass(499);
    expect(world.admission.isAlone('a')).toBe(true);
  });

  test('however often it asks itself', () => {
    const world = createWorld();
    world.ask('b');
    world.ask('a');
    world.ask('a');
    expect(world.admission.isAlone('a')).toBe(false);
    world.pass(1_000);
    world.ask('a');
    expect(world.admission.isAlone('a')).toBe(true);
  });

  test('beside probes without credentials', () => {
    const world = createWorld();
    world.ask('127.0.0.1', true);
    expect(world.admission.isAlone('a')).toBe(true);
  });
});

test('short work of an account alone takes most turns, beside another one few', async () => {
  const world = createWorld();
  const held = world.hold('greedy', 200);
  expect(world.admission.stats().running).toBe(84);
  world.hold('small', 30);
  expect(world.admission.stats().running).toBe(84 + 11);
  for (const ctx of held.slice(0, 84)) {
    world.admission.leave(ctx);
  }
  await Promise.resolve();
  expect(world.admission.stats().running).toBe(16 + 16);
});

test('pieces of pages: all at once alone, four beside others, and none is forgotten', async () => {
  const world = createWorld();
  const ends: (() => void)[] = [];
  const add = (owner: string, count: number): readonly Promise<void>[] =>
    Array.from({ length: count }, () =>
      world.admission.piece(owner, () => new Promise<void>((resolve) => ends.push(resolve))),
    );
  const settle = async (): Promise<void> => {
    for (let n = 0; n < 8; n++) {
      await Promise.resolve();
    }
  };
  const alone = add('a', 50);
  expect(ends).toHaveLength(50);
  ends.splice(0).forEach((end) => void end());
  await Promise.all(alone);
  world.ask('b');
  const shared = [...add('a', 20), ...add('b', 20)];
  // Nobody has asked but `b`, who is alone as far as it knows: its pieces come at once, those of `a` in fours.
  expect(ends.length).toBe(24);
  world.ask('a');
  const failed = world.admission.piece('a', () => Promise.reject(new Error('lost'))).catch(() => 'failed');
  while (ends.length > 0) {
    ends.splice(0, 1).forEach((end) => void end());
    await settle();
  }
  await Promise.all(shared);
  expect(await failed).toBe('failed');
  const after = add('a', 5);
  expect(ends).toHaveLength(4);
  ends.splice(0).forEach((end) => void end());
  await settle();
  ends.splice(0).forEach((end) => void end());
  await Promise.all(after);
});

test('a listing reads pages of 128 items while others are there, and longer ones when they have gone', async () => {
  const world = createWorld();
  const sizes: number[] = [];
  const picked = Array.from({ length: 1_500 }, (_, n) => ({ token: `t${n}`, storedAt: n, bucket: 0 }));
  const key = { aid: 'a', kid: 'k', gen: 1 } as Parameters<ItemPages['read']>[0]['key'];
  const store = stub<ItemStore>({
    positions: () => Promise.resolve([]),
    readMany: () => Promise.resolve([]),
  });
  world.ask('b');
  const range = { key, after: [], start: [], until: Number.MAX_SAFE_INTEGER, picked };
  const pages = new ItemPages(store, stub<Crypto>({}), world.admission, stub<Metering>({}), () => 0);
  for await (const { fields } of pages.read(range, { part: 'meta' })) {
    sizes.push(fields.tokens.length);
    if (sizes.length === 2) {
      world.pass(1_000);
    }
  }
  expect(sizes).toEqual([128, 128, 256, 512, 476]);
});

test('rejections wait before they are told, but never more than a thousand', async () => {
  const admission = new Admission(() => 0);
  const told: string[] = [];
  const held = Array.from({ length: 1_024 }, () => admission.holdBack().then(() => told.push('held')));
  await admission.holdBack().then(() => told.push('one more'));
  expect(told).toEqual(['one more']);
  await Promise.all(held);
  expect(told.length).toBe(1_025);
  const again = admission.holdBack().then(() => told.push('again'));
  await Promise.resolve();
  expect(told.at(-1)).toBe('held');
  await again;
});
