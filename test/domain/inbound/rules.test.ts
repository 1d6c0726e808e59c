import { expect, test } from 'bun:test';
import { checkInboundRules, type InboundRules } from '../../../server/domain/inbound/rules.ts';
import { outcomeOf } from './run.ts';

function source(others: object): InboundRules {
  return { extract: [{ number: 'a[*].n', ...others }] };
}

test.each<[string, InboundRules]>([
  ['all members', source({ code: 'a[*].cvc', include: ['a[*].exp', 'id'], reference: 'a[*].id' })],
  ['names of its own', source({ include: { month: 'a[*].exp', 'x y': '*' } })],
  ['attributes, indexes and names with brackets', source({ include: ['r.e[2].@At', '["a.b[c]"][0]'] })],
  ['cards', { extract: 'cards', allow: ['query.id', '*.b'], strict: 'mask' }],
  ['the path of a code as a code', source({ code: 'a[*].cvv', include: ['cvv.type'] })],
])('takes %s', (_, rules) => {
  expect(outcomeOf(() => checkInboundRules(rules))).toBe('passed');
});

test.each<[string, InboundRules, string]>([
  ['no sources', { extract: [] }, 'body.extract'],
  ['a path that is none', { extract: [{ number: 'a..b' }] }, 'body.extract[0].number'],
  ['an empty path', source({ code: '' }), 'body.extract[0].code'],
  ['a reference that is none', source({ reference: 'a[-1]' }), 'body.extract[0].reference'],
  ['an allowed path that is none', { extract: 'cards', allow: ['a', 'b['] }, 'body.allow[1]'],
  ['equal last names', source({ include: ['a.id', 'b.id'] }), 'body.extract[0].include[1]'],
  [
    'equal names of an attribute and an element',
    source({ include: ['a.@id', 'b.id'] }),
    'body.extract[0].include[1]',
  ],
  ['card_number', source({ include: ['x.card_number'] }), 'body.extract[0].include[0]'],
  ['cvv as a name', source({ include: { cvv: 'a.b' } }), 'body.extract[0].include.cvv'],
  ['a code', source({ include: { safe: 'a[*].cvv2' } }), 'body.extract[0].include.safe'],
  ['a code in a list', source({ include: ['a.cvcs', 'a.cvc[0]'] }), 'body.extract[0].include[1]'],
  ['a code in an attribute', source({ include: ['Card.@SeriesCode'] }), 'body.extract[0].include[0]'],
  ['a code as a reference', source({ reference: 'card.securityCode' }), 'body.extract[0].reference'],
  ['a path without a name', source({ include: ['a.*'] }), 'body.extract[0].include[0]'],
  ['too many sources', { extract: Array.from({ length: 33 }, () => ({ number: 'n' })) }, 'body.extract'],
  ['too many allowed', { extract: 'cards', allow: Array.from({ length: 65 }, () => 'n') }, 'body.allow'],
])('rejects %s', (_, rules, field) => {
  expect(outcomeOf(() => checkInboundRules(rules))).toBe(`invalid_request ${field}`);
});
