import { describe, expect, test } from 'bun:test';
import { isTestCard } from '../../server/domain/card/test-cards.ts';

describe('isTestCard', () => {
  test.each([
    '4111111111111111',
    '4111 1111 1111 1111',
    '4111-1111-1111-1111',
    ' 4111.1111\u00a01111 1111 ',
    '4222222222222',
    '378282246310005',
    '6205500000000000004',
    '5066991111111118',
    '2200000000000053',
  ])('%j is one', (number) => {
    expect(isTestCard(number)).toBe(true);
  });

  test.each(['', '4111', '41111111111111110', '4929123456789012', '٤١١١', 'x'])('%j is none', (number) => {
    expect(isTestCard(number)).toBe(false);
  });
});
