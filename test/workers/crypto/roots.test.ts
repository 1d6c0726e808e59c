/** The record of the root: its format, its steps, and the keys that a thread gets from it in each stage. */
import { describe, expect, test } from 'bun:test';
import { IntegrityError } from '../../../workers/crypto/primitives/bytes.ts';
import {
  decodeRoots,
  encodeRoots,
  newRoots,
  type RootStep,
  rootId,
  stepRoots,
} from '../../../workers/crypto/record/roots.ts';
import { createSubkeys } from '../../../workers/crypto/record/service-record.ts';
import {
  createRootCell,
  createRootSource,
  ROOT_PLACE,
  writeRootCell,
} from '../../../workers/jobs/root-keys.ts';
import { expectDamageRefused, expectRefused, hex, toHex } from './fixture.ts';
import { golden, inputs, sealer } from './golden.ts';

const { root } = golden;
function filled(value: number): Uint8Array {
  return new Uint8Array(32).fill(value);
}
function keyOf(value: number, purpose: 'idem' | 'audit' | 'ref-index'): string {
  return toHex(createSubkeys(filled(value), 'cardvault root key', inputs.env)(purpose, 'a'));
}

describe('the golden record', () => {
  test('holds two roots, the key of links and the seed', () => {
    const plain = sealer.open(...ROOT_PLACE, hex(root.record));
    expect(toHex(plain)).toBe(root.plaintext);
    const roots = decodeRoots(plain, inputs.env);
    expect({ ...roots, roots: roots.roots.map(rootId) }).toEqual({
      ...{ version: 2, stage: 'moving', movedAtMs: 1_767_225_600_000 },
      ...{ roots: root.ids, links: filled(0xb3), seed: filled(0xb4) },
    });
    expect(toHex(encodeRoots(roots))).toBe(root.plaintext);
    expectDamageRefused(hex(root.record), (bad) => sealer.open(...ROOT_PLACE, bad));
  });

  test('of a version with the root alone derives everything from it', () => {
    const source = createRootSource(sealer, inputs.env, hex(root.single));
    expect(toHex(source.rootKey('audit', 'a'))).toBe(keyOf(0xb1, 'audit'));
    expect(toHex(source.rootKey('idem', 'a'))).toBe(keyOf(0xb1, 'idem'));
    expect([source.writeRootId(), source.rootKeys('ref-index', 'a')]).toEqual([
      undefined,
      [hex(keyOf(0xb1, 'ref-index'))],
    ]);
    // Its first rotation keeps what links and checkpoints derive from.
    const before = decodeRoots(filled(0xb1), inputs.env);
    const after = stepRoots(before, 'begin', 0);
    expect([after.version, after.links, after.seed]).toEqual([2, before.links, before.seed]);
  });

  test('with other numbers, stages or lengths is refused', () => {
    const plain = hex(root.plaintext);
    const changed = (at: number, value: number): Uint8Array => Object.assign(plain.slice(), { [at]: value });
    for (const bad of [
      changed(0, 3),
      changed(1, 3),
      changed(2, 0),
      changed(2, 1),
      changed(2, 3),
      plain.slice(1),
      filled(1).slice(1),
    ]) {
      expectRefused(() => decodeRoots(bad, inputs.env));
    }
  });
});

test('steps follow in one order alone, and the last one forgets the older root', () => {
  const steps: readonly RootStep[] = ['begin', 'move', 'settle', 'end'];
  let roots = newRoots();
  const [first = filled(0)] = roots.roots;
  for (const step of steps) {
    for (const other of steps.filter((each) => each !== step)) {
      expectRefused(() => stepRoots(roots, other, 1));
    }
    roots = stepRoots(roots, step, 1);
  }
  expect([roots.stage, roots.roots.length, roots.roots[0] === first]).toEqual(['steady', 1, false]);
});

test('a thread follows the cell: what it writes under and reads under in each stage', () => {
  const start = newRoots();
  const sealed = (roots: typeof start): Uint8Array => sealer.seal(...ROOT_PLACE, encodeRoots(roots));
  const cell = createRootCell();
  const source = createRootSource(sealer, inputs.env, cell);
  expect(() => source.writeRootId()).toThrow(IntegrityError);
  writeRootCell(cell, sealed(start));
  let roots = start;
  const seen = () => [
    roots.roots.findIndex((each) => rootId(each) === source.writeRootId()),
    source.rootKeys('ref-index', 'a').length,
    source.rootKeys('idem', 'a').length,
  ];
  const all = [seen()];
  for (const step of ['begin', 'move', 'settle', 'end'] as const) {
    roots = stepRoots(roots, step, 1);
    writeRootCell(cell, sealed(roots));
    all.push(seen());
  }
  expect(all).toEqual([
    [0, 1, 1],
    [0, 2, 2],
    [1, 2, 2],
    [1, 1, 2],
    [0, 1, 1],
  ]);
  expect(source.rootKeyOf(rootId(start.roots[0] ?? filled(0)), 'password')).toBeUndefined();
});
