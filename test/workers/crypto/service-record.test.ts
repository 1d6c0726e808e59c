import { describe, expect, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import { IntegrityError, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { createSubkeys, type Purpose, ServiceSealer } from '../../../workers/crypto/record/service-record.ts';
import { expectRefused, filled, flipped, sealerOf, toHex } from './fixture.ts';

const sealer = sealerOf();
const PLACE = ['record', 'account-1', 'rule', ['a', 'b']] as const;
const sealedRule = sealer.seal(...PLACE, utf8('a rule'));

function ringOf(writeId: string, ...ids: string[]) {
  return new ServiceSealer(
    'staging',
    writeId,
    ids.map((id) => [id, filled(32, id.charCodeAt(0))]),
  );
}

describe('seal and open', () => {
  test('round trip of anything', () => {
    const purpose = fc.constantFrom<Purpose>('record', 'audit', 'idem', 'job');
    const texts = fc.array(fc.string(), { maxLength: 4 });
    fc.assert(
      fc.property(
        purpose,
        fc.string(),
        fc.string(),
        texts,
        fc.uint8Array(),
        (name, account, kind, path, bytes) => {
          const record = sealer.seal(name, account, kind, path, bytes);
          expect(record.length).toBe(52 + bytes.length);
          expect(toHex(sealer.open(name, account, kind, path, record))).toBe(toHex(bytes));
        },
      ),
    );
  });

  test('another purpose, account, kind, path, environment or master key is refused', () => {
    const open: typeof sealer.open = (...args) => sealer.open(...args);
    expectRefused(() => open('job', 'account-1', 'rule', ['a', 'b'], sealedRule));
    expectRefused(() => open('record', 'account-2', 'rule', ['a', 'b'], sealedRule));
    expectRefused(() => open('record', 'account-1', 'form', ['a', 'b'], sealedRule));
    for (const path of [['a'], ['ab'], ['a', 'b', ''], ['b', 'a'], ['', 'a', 'b'], []]) {
      expectRefused(() => open('record', 'account-1', 'rule', path, sealedRule));
    }
    expectRefused(() => sealerOf('production').open(...PLACE, sealedRule));
    expectRefused(() => sealerOf('staging', filled(32, 8)).open(...PLACE, sealedRule));
  });

  test('the message key is wiped, after success and after a refusal', () => {
    const wiped = (run: () => void): number => {
      const fill = spyOn(Buffer.prototype, 'fill');
      try {
        run();
        const targets = fill.mock.contexts.map((target) => target as Buffer);
        return targets.filter((target) => target.length === 32 && target.every((byte) => byte === 0)).length;
      } finally {
        fill.mockRestore();
      }
    };
    expect(wiped(() => sealer.seal(...PLACE, utf8('x')))).toBeGreaterThanOrEqual(1);
    expect(wiped(() => sealer.open(...PLACE, sealedRule))).toBeGreaterThanOrEqual(1);
    expect(
      wiped(() => expectRefused(() => sealer.open(...PLACE, flipped(sealedRule, 51)))),
    ).toBeGreaterThanOrEqual(1);
  });
});

describe('the ring', () => {
  test('records of an older key open after a rotation, new ones are of the new key', () => {
    const before = ringOf('a', 'a');
    const after = ringOf('b', 'b', 'a');
    const old = before.seal(...PLACE, utf8('old'));
    const fresh = after.seal(...PLACE, utf8('new'));
    expect(toHex(after.open(...PLACE, old))).toBe(toHex(utf8('old')));
    expect(after.writerOf(old)).toBe('a');
    expect(after.writerOf(fresh)).toBe('b');
    expect(before.writerOf(fresh)).toBeUndefined();
    expect(() => before.open(...PLACE, fresh)).toThrow(IntegrityError);
    expect(() => ringOf('b', 'b').open(...PLACE, old)).toThrow(IntegrityError);
  });

  test('writerOf knows nothing of other bytes', () => {
    expect(sealer.writerOf(new Uint8Array(0))).toBeUndefined();
    expect(sealer.writerOf(filled(100, 1))).toBeUndefined();
    expect(sealer.writerOf(flipped(sealedRule, 1))).toBeUndefined();
  });

  test('a bad ring is refused', () => {
    expect(() => ringOf('x', 'a')).toThrow(RangeError);
    expect(() => sealerOf('staging', filled(31, 1))).toThrow(RangeError);
  });
});

describe('sub-keys', () => {
  const subkeyOf = createSubkeys(filled(32, 7), 'a label', 'staging');

  test('differ by purpose, account, environment, label and key', () => {
    const purposes: Purpose[] = ['record', 'ref-index', 'audit', 'idem', 'job', 'password', 'cursor'];
    const keys = [
      ...purposes.map((purpose) => subkeyOf(purpose, 'account-1')),
      subkeyOf('idem', 'account-2'),
      createSubkeys(filled(32, 7), 'a label', 'production')('idem', 'account-1'),
      createSubkeys(filled(32, 7), 'b label', 'staging')('idem', 'account-1'),
      createSubkeys(filled(32, 8), 'a label', 'staging')('idem', 'account-1'),
    ];
    expect(new Set(keys.map(toHex)).size).toBe(keys.length);
    expect(keys.every((key) => key.length === 32)).toBe(true);
  });

  test('stay the same when more accounts are used than are remembered', () => {
    const first = toHex(subkeyOf('cursor', 'first'));
    for (let i = 0; i < 5000; i++) {
      subkeyOf('cursor', `account ${i}`);
    }
    expect(toHex(subkeyOf('cursor', 'first'))).toBe(first);
  });
});
