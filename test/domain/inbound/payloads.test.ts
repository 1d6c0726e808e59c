/** Messages of other systems: what goes on differs in the values of cards alone. */
import { expect, test } from 'bun:test';
import type { InboundRules } from '../../../server/domain/inbound/rules.ts';
import { PATHS, payload, putBack } from '../payloads/messages.ts';
import { refusal, run } from './run.ts';

/** Puts the numbers and codes back, and expects what was sent. */
function expectSame(id: string, rules: InboundRules): readonly string[] {
  const { sent, contentType: type } = payload(id);
  const { bytes, cards } = run(sent, rules, { type });
  const stored = cards.map((card) => JSON.parse(card.slice(card.indexOf('{'))));
  const back = putBack(id, bytes, 'tok\\d+', (token) => stored[Number(token.slice(3)) - 1].card_number);
  expect(back).toBe(sent.toString('latin1'));
  return cards.map((card) => {
    const { card_number: number, cvv = '-' } = JSON.parse(card.slice(card.indexOf('{')));
    return `${card.slice(0, card.indexOf('{')).trim() || '-'} ${number} ${cvv}`;
  });
}

test.each(Object.keys(PATHS))('message %s by its own paths', (id) => {
  const [number, code, reference] = PATHS[id] ?? [''];
  const stored = expectSame(id, { extract: [{ number, code, reference }] });
  const wanted = payload(id).cards.map(
    (card) => `${(reference && card.reference) ?? '-'} ${card.number} ${(code && card.code) ?? '-'}`,
  );
  expect(stored.toSorted()).toEqual(wanted.toSorted());
});

test.each(Object.keys(PATHS))('message %s by smart parse', (id) => {
  const stored = expectSame(id, { extract: 'cards' });
  // A gift card without a check digit keeps its number; of one number the first card counts.
  const wanted = payload(id).cards.filter(({ number }) => number !== '6036289825920009');
  const numbers = new Map(
    wanted.map(({ number, code = '-' }) => [number, `- ${number} ${code}`] as const).toReversed(),
  );
  expect(stored.toSorted()).toEqual([...numbers.values()].toSorted());
});

test('a card that no path reaches is found, and other formats are none', () => {
  const rules: InboundRules = { extract: [{ number: 'n' }] };
  const outcome = (id: string): string => refusal(payload(id).sent, rules, { type: payload(id).contentType });
  expect(['19', '01', '20'].map(outcome)).toEqual([
    'card_not_extracted body.*',
    'card_not_extracted body.*.*.*.*.*.*.*.*.*.*.*',
    'card_not_extracted body.*[*].*.*',
  ]);
  expect(['12', '17', '24'].map(outcome)).toEqual(Array(3).fill('content_type_unsupported body'));
});
