/** Messages of other systems with cards, and where their cards are. */
import { readFileSync } from 'node:fs';

interface Payload {
  readonly file: string;
  readonly contentType: string;
  readonly cards: readonly { readonly number: string; readonly code?: string; readonly reference?: string }[];
}

const FOLDER = `${import.meta.dir}/`;
const PAYLOADS: readonly Payload[] = JSON.parse(readFileSync(`${FOLDER}index.json`, 'utf8'));

const RESERVATION = 'HotelReservations.HotelReservation[*]';
const ACCEPTED = 'Guarantee.GuaranteesAccepted.GuaranteeAccepted.PaymentCard';

/** Paths of number, code and reference, by the number of the file. */
export const PATHS: Readonly<
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
/** The message whose cards are bare numbers. */
const BARE = '21';

/** The message of a number, as it is sent. */
export function payload(id: string): {
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

/**
 * Puts numbers and codes back into what arrived. `token` matches one, whose number `numberOf` gives. Throws unless as many codes were
 * hidden as the message has.
 */
export function putBack(
  id: string,
  arrived: Uint8Array,
  token: string,
  numberOf: (token: string) => string,
): string {
  const { sent, cards } = payload(id);
  const write = WRITTEN[id] ?? String;
  const codes = cards
    .flatMap(({ code }) => code ?? [])
    // One message names its second card first.
    .toSorted((a, b) => sent.indexOf(`"${a}"`) - sent.indexOf(`"${b}"`));
  const quote = id === BARE ? '"' : '';
  const back = Buffer.from(arrived)
    .toString('latin1')
    .replaceAll(new RegExp(`${quote}(${token})${quote}`, 'g'), (_, found: string) => write(numberOf(found)))
    .replaceAll(new RegExp(`${quote}[*]{3,4}${quote}`, 'g'), () => codes.shift() ?? 'none');
  if (codes.length > 0) {
    throw new Error(`${codes.length} codes were not hidden.`);
  }
  return back;
}
