import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  type AuditEvent,
  CHAIN_BEGIN,
  followsMark,
  type MarkFacts,
  openAuditEntry,
  openAuditMark,
  sealAuditEntry,
  sealAuditMark,
} from '../../../workers/crypto/log/audit-entry.ts';
import { checkpointKey, isOwnCheckpoint, signCheckpoint } from '../../../workers/crypto/log/checkpoint.ts';
import { expectRefused, filled, hex, sealerOf, toHex } from './fixture.ts';

const sealer = sealerOf();
const KEY = filled(32, 9);
const EVENT: AuditEvent = {
  timeMs: 1_700_000_000_123,
  action: 'key.create',
  outcome: 'success',
  actor: 'account/shop',
  ip: '203.0.113.7',
  userAgent: 'shop/1.0',
  requestId: 'request-1',
  object: 'key/alice',
  count: 1,
};

function seal(before: MarkFacts, event: Partial<AuditEvent> = {}) {
  return sealAuditEntry(sealer, KEY, 'a1', before, { ...EVENT, ...event });
}
function open(sequence: number, record: Uint8Array) {
  return openAuditEntry(sealer, KEY, 'a1', sequence, record);
}

describe('an entry', () => {
  test('opens to what was sealed, at its place', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { minLength: 7, maxLength: 7 }),
        fc.nat(),
        fc.integer({ min: 1, max: 0xffff_ffff }),
        fc.option(fc.string({ unit: 'grapheme', maxLength: 128 }), { nil: undefined }),
        fc.option(fc.nat(), { nil: undefined }),
        (
          [action = '', outcome = '', actor = '', ip = '', userAgent = '', requestId = '', object = ''],
          timeMs,
          count,
          actorName,
          revision,
        ) => {
          const event = {
            ...{ action, outcome, actor, ip, userAgent, requestId, object, timeMs, count },
            ...(actorName === undefined ? {} : { actorName }),
            ...(revision === undefined ? {} : { change: { kind: 'account', revision } as const }),
          };
          const { record, mark } = seal(CHAIN_BEGIN, event);
          const { mark: opened, previous, ...rest } = open(1, record);
          expect(rest).toEqual(event);
          expect(opened).toEqual(mark);
          expect(previous).toBe('00'.repeat(32));
        },
      ),
    );
  });

  test('cuts long texts between characters', () => {
    const { record } = seal(CHAIN_BEGIN, { userAgent: `${'a'.repeat(254)}ü`, object: 'ü'.repeat(200) });
    expect(open(1, record)).toMatchObject({ userAgent: 'a'.repeat(254), object: 'ü'.repeat(127) });
  });

  test('is refused at another place, in another chain, and under another key of the chain it does not follow', () => {
    const first = seal(CHAIN_BEGIN);
    const second = seal(first.mark);
    expectRefused(() => open(1, second.record));
    expectRefused(() => openAuditEntry(sealer, KEY, 'a2', 2, second.record));
    expectRefused(() => openAuditEntry(sealerOf('production'), KEY, 'a1', 2, second.record));
    expect(followsMark(open(2, second.record), first.mark)).toBe(true);
    const other = openAuditEntry(sealer, filled(32, 1), 'a1', 1, first.record);
    expect(followsMark(open(2, second.record), other.mark)).toBe(false);
  });

  test('follows one entry alone', () => {
    const first = seal(CHAIN_BEGIN);
    const rival = seal(CHAIN_BEGIN, { outcome: 'key_exists' });
    const next = open(2, seal(first.mark).record);
    expect(followsMark(next, first.mark)).toBe(true);
    expect(followsMark(next, rival.mark)).toBe(false);
    expect(followsMark(next, { ...first.mark, sequence: 2 })).toBe(false);
  });

  test('has the same link under another master key', () => {
    const { record, mark } = seal(CHAIN_BEGIN);
    const rotated = sealerOf('staging', filled(32, 8));
    const again = rotated.seal(
      'audit',
      'a1',
      'security log',
      ['1'],
      sealer.open('audit', 'a1', 'security log', ['1'], record),
    );
    expect(openAuditEntry(rotated, KEY, 'a1', 1, again).mark).toEqual(mark);
  });

  test('keeps how far the clock has stepped back', () => {
    const times = [1_000, 5_000, 2_000, 4_500, 9_000, 8_999];
    let mark = CHAIN_BEGIN;
    const seen = times.map((timeMs) => {
      mark = seal(mark, { timeMs }).mark;
      return [mark.sequence, mark.latestMs, mark.stepBackMs];
    });
    expect(seen).toEqual([
      [1, 1_000, 0],
      [2, 5_000, 0],
      [3, 5_000, 3_000],
      [4, 5_000, 3_000],
      [5, 9_000, 3_000],
      [6, 9_000, 3_000],
    ]);
  });
});

describe('a mark', () => {
  const { mark } = seal(CHAIN_BEGIN);

  test('opens to what was sealed', () => {
    expect(openAuditMark(sealer, 'a1', 'head', sealAuditMark(sealer, 'a1', 'head', mark))).toEqual(mark);
  });

  test('is refused of another kind, and of another chain', () => {
    const head = sealAuditMark(sealer, 'a1', 'head', mark);
    expectRefused(() => openAuditMark(sealer, 'a1', 'start', head));
    expectRefused(() => openAuditMark(sealer, 'a2', 'head', head));
    expectRefused(() => openAuditMark(sealer, 'a1', 'head', seal(CHAIN_BEGIN).record));
  });
});

describe('a checkpoint', () => {
  const seed = filled(32, 5);
  const facts = { account: 'a1', sequence: 7, head: 'ab'.repeat(32), time: '2026-01-31T12:00:00.123Z' };
  const checkpoint = signCheckpoint(seed, 'staging', facts);

  test('is known again, and no other one is', () => {
    expect(isOwnCheckpoint(seed, 'staging', checkpoint)).toBe(true);
    expect(isOwnCheckpoint(seed, 'production', checkpoint)).toBe(false);
    expect(isOwnCheckpoint(filled(32, 6), 'staging', checkpoint)).toBe(false);
    for (const change of [
      { account: 'a2' },
      { account: '' },
      { sequence: 8 },
      { sequence: 7.5 },
      { head: 'ac'.repeat(32) },
      { head: `${'ab'.repeat(32)}\n` },
      { time: '2026-01-31T12:00:00.124Z' },
      { signature: '' },
      { signature: Buffer.alloc(64).toString('base64') },
    ]) {
      expect(isOwnCheckpoint(seed, 'staging', { ...checkpoint, ...change })).toBe(false);
    }
  });

  test('has a public key as RFC 8032 makes it of the seed', () => {
    // RFC 8032, 7.1, test 1.
    const pem = checkpointKey(hex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'));
    const der = Buffer.from(pem.split('\n').slice(1, -2).join(''), 'base64');
    expect(toHex(der.subarray(-32))).toBe('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a');
  });
});
