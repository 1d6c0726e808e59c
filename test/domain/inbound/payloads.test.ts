/** Messages of other systems: what goes on differs in the values of cards alone. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { InboundRules } from '../../../server/domain/inbound/rules.ts';
import { refusal, run } from './run.ts';

interface Payload {
  readonly file: string;
  readonly contentType: string;
  readonly cards: readonly { readonly number: string; readonly code?: string; readonly reference?: string }[];
}

const FOLDER = `${import.meta.dir}/../payloads/`;
const PAYLOADS: readonly Payload[] = JSON.parse(readFileSync(`${FOLDER}index.json`, 'utf8'));

const RESERVATION = 'HotelReservations.HotelReservation[*]';
const ACCEPTED = 'Guarantee.GuaranteesAccepted.GuaranteeAccepted.PaymentCard';

/** Paths of number, code and reference, by the number of the file. */
const PATHS: Readonly<
  Record<string, readonly [number: string, code?: string | undefined, reference?: string]>
> = {
  '01': [
    `Envelope.Body.OTA_HotelResNotifRQ.${RESERVATION}.ResGlobalInfo.${ACCEPTED}.@CardNumber`,
    `Envelope.Body.OTA_HotelResNotifRQ.${RESERVATION}.ResGlobalInfo.${ACCEPTED}.@SeriesCode`,
    `Envelope.Body.OTA_HotelResNotifRQ.${RESERVATION}.UniqueID.@ID`,
  ],
  '02': [
    '*.Bookings.Booking[*].RoomStay[*].PaymentCard.@cardNumber',
    '*.Bookings.Booking[*].RoomStay[*].PaymentCard.@seriesCode',
    '*.Bookings.Booking[*].@id',
  ],
  '03': ['paymentData.paymentCard.cardNumber', 'paymentData.paymentCard.cardCVC', 'clientReference'],
  '04': ['data.*.guarantee.card_number', 'data.*.guarantee.cvv', 'data.*.unique_id'],
  '05': ['data.number', 'data.cvc', 'metadata.customer'],
  '06': ['x_card_num', 'x_card_code', 'x_invoice_num'],
  '07': ['["payment[cc_number]"]', '["payment[cc_cid]"]'],
  '08': ['*.Body.*.card.accountNumber', '*.Body.*.card.cvNumber', '*.Body.*.merchantReferenceCode'],
  '09': ['Request.NewOrder.AccountNum', 'Request.NewOrder.CardSecVal', 'Request.NewOrder.OrderID'],
  '10': [
    'paymentService.submit.order.paymentDetails.*.cardNumber',
    'paymentService.submit.order.paymentDetails.*.cvc',
    'paymentService.submit.order.@orderCode',
  ],
  '11': ['[*].number', undefined, '[*].token'],
  '13': ['OrderList.Order[*].CreditCard', undefined, 'OrderList.Order[*].@id'],
  '14': ['cards[*].number', 'cards[*].cvv', 'cards[*].id'],
  '15': ['paymentData.applicationPrimaryAccountNumber', undefined, 'merchantReference'],
  '16': ['cardnumber', 'cvv', 'parameters.ticket'],
  '18': ['none'],
  '20': ['payments[*].paymentMethod.number', 'payments[*].paymentMethod.cvc'],
  '21': ['credit_card.card_number', 'credit_card.cvv', 'merchant_ref'],
  '22': ['ACCT', 'CVV2', 'INVNUM'],
  '23': [
    'Document.*.*.Envt.Card.PlainCardData.PAN',
    'Document.*.*.Envt.Card.PlainCardData.CardSctyCd.CSCVal',
    'Document.*.*.Tx.TxId.TxRef',
  ],
  '25': [
    `*.Body.*.parameters.${RESERVATION}.${ACCEPTED}.CardNumber`,
    `*.Body.*.parameters.${RESERVATION}.${ACCEPTED}.SeriesCode`,
    `*.Body.*.parameters.${RESERVATION}.UniqueID.@ID`,
  ],
};

/** Cards as a form, a number of JSON or another text writes them. */
const WRITTEN: Readonly<Record<string, (value: string) => string>> = {
  '07': (value) => value.replaceAll(' ', '+'),
};
const BARE = '21';

function payload(id: string): {
  readonly sent: Buffer;
  readonly contentType: string;
  readonly cards: Payload['cards'];
} {
  const found = PAYLOADS.find(({ file }) => file.startsWith(`${id}-`));
  if (found === undefined) {
    throw new Error(`There is no message ${id}.`);
  }
  return { ...found, sent: readFileSync(FOLDER + found.file) };
}

/** Puts the numbers and codes back, and expects what was sent. */
function expectSame(id: string, rules: InboundRules): readonly string[] {
  const { sent, contentType: type } = payload(id);
  const { bytes, cards } = run(sent, rules, { type });
  const stored = cards.map((card) => JSON.parse(card.slice(card.indexOf('{'))));
  const write = WRITTEN[id] ?? String;
  const codes = payload(id)
    .cards.flatMap(({ code }) => code ?? [])
    // One message names its second card first.
    .toSorted((a, b) => sent.indexOf(`"${a}"`) - sent.indexOf(`"${b}"`));
  const quote = id === BARE ? '"' : '';
  const back = Buffer.from(bytes)
    .toString('latin1')
    .replaceAll(new RegExp(`${quote}tok(\\d+)${quote}`, 'g'), (_, at) =>
      write(stored[Number(at) - 1].card_number),
    )
    .replaceAll(new RegExp(`${quote}[*]{3,4}${quote}`, 'g'), () => codes.shift() ?? 'none');
  expect(back).toBe(sent.toString('latin1'));
  expect(codes).toEqual([]);
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
