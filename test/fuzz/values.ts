/** Values that no honest caller sends. Every text has a canary in it now and then, which must not come back. */
import type { Chance } from './chance.ts';

export const CANARY = 'canary-7f3a';

const TEXTS: readonly [string, ...string[]] = [
  '',
  ' ',
  '\0',
  'null',
  'undefined',
  'true',
  '-1',
  '0',
  '1e309',
  '99999999999999999999',
  '0x10',
  '1.5',
  '[]',
  '{}',
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  '%00',
  "' or 1=1 --",
  '{{.}}',
  '<script>',
  '*',
  '$',
  'a:b',
  '{a:b}',
  '\r\nX-Evil: 1',
  '\ud800',
  '\u202e',
  'ß',
  '😀',
  '4111111111111111',
  '4111 1111 1111 1111',
  '127.0.0.1',
  'https://127.0.0.1/',
  'P1D',
  '2026-01-01T00:00:00Z',
  '-infinity',
  'NaN',
];

/** A text that means something to some parser, is very long, or is made of chance. */
export function hostileText(chance: Chance): string {
  const text = chance.pick<(chance: Chance) => string>([
    () => chance.pick(TEXTS),
    () => chance.pick(TEXTS),
    () => chance.pick(TEXTS).repeat(1 + chance.int(300)),
    () => 'a'.repeat(chance.int(9_000)),
    () => Buffer.from(chance.bytes(chance.int(40))).toString('latin1'),
  ])(chance);
  return chance.hits(0.5) ? `${text}${CANARY}` : text;
}

function nested(levels: number, inside: unknown): unknown {
  let value = inside;
  for (let level = 0; level < levels; level += 1) {
    value = level % 2 === 0 ? [value] : { a: value };
  }
  return value;
}

/** A value of JSON that a member was not made for. */
export function hostileValue(chance: Chance): unknown {
  return chance.pick<() => unknown>([
    () => hostileText(chance),
    () => hostileText(chance),
    () => chance.pick([0, -1, 1e21, -0.5, Number.MAX_SAFE_INTEGER, 2 ** 53]),
    () => chance.pick([true, false, null]),
    () => Array.from({ length: chance.int(30) }, () => hostileText(chance).slice(0, 40)),
    () => ({ [hostileText(chance).slice(0, 60)]: hostileText(chance) }),
    () => nested(chance.int(80), hostileText(chance).slice(0, 40)),
  ])();
}
