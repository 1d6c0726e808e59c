import { expect, test } from 'bun:test';
import { VaultError } from '../../../server/core/errors.ts';
import type { HeaderEntries } from '../../../server/core/headers.ts';
import { replaceReplyCards } from '../../../server/domain/inbound/inbound.ts';
import type { InboundRules } from '../../../server/domain/inbound/rules.ts';
import { AMEX, FORM_TYPE, JSON_TYPE, outcomeOf, VISA } from './run.ts';

const RULES: InboundRules = {
  extract: [{ number: 'bookings[*].card.number', code: 'bookings[*].card.cvc' }],
};

function reply(body: string | Uint8Array, type: string, headers: HeaderEntries = [], rules = RULES) {
  let cards = 0;
  const given: HeaderEntries = type === '' ? headers : [['content-type', type], ...headers];
  const { body: shown, ...others } = replaceReplyCards(
    { headers: given, body: Buffer.from(body) },
    rules,
    () => {
      cards++;
      return `tok${cards}`;
    },
  );
  return { ...others, body: Buffer.from(shown).toString('latin1'), cards };
}

test('cards become tokens', () => {
  const sent = `{"bookings":[{"card":{"number":"${VISA}","cvc":"123"}},{"card":{"number":"${AMEX}"}}]}`;
  expect(reply(sent, JSON_TYPE, [['etag', '"1"']])).toEqual({
    headers: [
      ['content-type', JSON_TYPE],
      ['etag', '"1"'],
    ],
    body: '{"bookings":[{"card":{"number":"tok1","cvc":"***"}},{"card":{"number":"tok2"}}]}',
    stored: 2,
    cards: 2,
  });
});

test.each<[string, string | Uint8Array, string]>([
  ['text', 'nothing here 123', 'text/plain'],
  ['an image', Buffer.from([0x89, 0x50, 0xff]), 'image/png'],
  ['an empty body', '', ''],
  ['HTML', '<html><p>4111</p></html>', 'text/html'],
])('%s without a number passes', (_, body, type) => {
  expect(reply(body, type)).toMatchObject({
    body: Buffer.from(body).toString('latin1'),
    stored: 0,
    cards: 0,
  });
});

test.each<[string, string | Uint8Array, string, HeaderEntries?]>([
  ['text with a number', `pay ${VISA}`, 'text/plain'],
  ['HTML with a number', `<html><p>4111 1111 1111 1111</p></html>`, 'text/html'],
  ['multipart with a number', `--b\r\n\r\n${VISA}\r\n--b--`, 'multipart/form-data; boundary=b'],
  ['UTF-16 with a number', Buffer.from(`"${VISA}"`, 'utf16le'), 'application/json; charset=utf-16le'],
  ['a number outside of the paths', `{"a":"${VISA}"}`, JSON_TYPE],
  ['a code outside of the paths', '{"cvv":"123"}', JSON_TYPE],
  ['a member twice', '{"a":1,"a":2}', JSON_TYPE],
  ['what is no JSON', `{"a":"${VISA}"`, JSON_TYPE],
  ['a form that cannot be decoded', `a=%ff&b=${VISA}`, FORM_TYPE],
  ['a number in a header', '{}', JSON_TYPE, [['x-card', VISA]]],
  ['a coding that is not known', '{}', JSON_TYPE, [['content-encoding', 'zstd']]],
  ['more than 1 MB', `"${'a'.repeat(1_048_576)}"`, JSON_TYPE],
])('%s is not storable', (_, body, type, headers = []) => {
  expect(outcomeOf(() => reply(body, type, headers))).toBe('reply_not_storable');
});

test('a card that cannot be stored, and an error of the vault', () => {
  const given = {
    headers: [['content-type', JSON_TYPE]] as const,
    body: Buffer.from(`{"bookings":[{"card":{"number":"${VISA}"}}]}`),
  };
  const failing = (code: 'test_card' | 'internal') =>
    outcomeOf(() =>
      replaceReplyCards(given, RULES, () => {
        throw new VaultError(code);
      }),
    );
  expect(failing('test_card')).toBe('reply_not_storable');
  expect(failing('internal')).toBe('internal');
});

test('with `mask` what is not extracted is hidden, except in another format', () => {
  const rules: InboundRules = { ...RULES, strict: 'mask' };
  expect(reply(`{"a":"${VISA}"}`, JSON_TYPE, [['x-card', VISA]], rules)).toMatchObject({
    body: `{"a":"${'*'.repeat(16)}"}`,
    headers: [
      ['content-type', JSON_TYPE],
      ['x-card', '*'.repeat(16)],
    ],
  });
  expect(outcomeOf(() => reply(VISA, 'text/plain', [], rules))).toBe('reply_not_storable');
});
