import { describe, expect, test } from 'bun:test';
import { remembered } from '../../server/domain/text/remembered.ts';

describe('remembered', () => {
  const counted = () => {
    const asked: string[] = [];
    const of = remembered((text) => {
      asked.push(text);
      return text === 'none' ? '' : text.toUpperCase();
    });
    return { of, asked };
  };

  test('keeps no long text, and none with digits that could be of a card', () => {
    const { of, asked } = counted();
    const others = ['x'.repeat(65), 'x-4111111111111111', 'a\n411'];
    for (const text of [...others, ...others]) {
      of(text);
    }
    expect(asked).toEqual([...others, ...others]);
  });

  test('keeps no more than a thousand, and the usual ones again after a flood of others', () => {
    const { of, asked } = counted();
    const names = Array.from({ length: 1_001 }, (_, n) => `${n % 40}-${Math.trunc(n / 40)}`);
    for (const text of ['usual', ...names, 'usual', 'usual', ...names.slice(-1), ...names.slice(0, 1)]) {
      of(text);
    }
    expect(asked).toEqual(['usual', ...names, 'usual', ...names.slice(0, 1)]);
  });
});
