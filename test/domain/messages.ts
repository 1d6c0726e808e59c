/** Messages of other systems, after their public documentation, with published test numbers. */

const CARD = '4111111111111111';
const OTHER = '5555555555554444';
const THIRD = '378282246310005';

const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';
const XML = 'text/xml';
const TEXT = 'text/plain';
const CSV = 'text/csv';

export interface Message {
  readonly what: string;
  readonly type?: string;
  readonly body: string | Uint8Array;
  /** Number, code, month, year and holder, `-` for what is not found; or the error; or `none`. */
  readonly card: string;
  /** What must not be readable in the original. */
  readonly hidden?: readonly string[];
  /** What must stay readable in it. */
  readonly shown?: readonly string[];
}

function json(value: unknown): string {
  return JSON.stringify(value);
}

function form(values: Record<string, string>): string {
  return new URLSearchParams(values).toString();
}

function utf16be(text: string): Uint8Array {
  return Buffer.from(text, 'utf16le').swap16();
}

function multipart(parts: readonly (readonly [head: string, body: string])[], end = '--'): string {
  return `${parts.map(([head, body]) => `--b0\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`).join('')}--b0${end}`;
}
const MULTIPART = 'multipart/form-data; boundary=b0';

const INNER = { card: { number: CARD, cvc: '555', exp_month: 1, exp_year: 2030, name: 'Zoë B' } };
const TRACK_1 = `%B${CARD}^LOVELACE/ADA^29122010000000000000?`;
const TRACK_2 = `;${CARD}=29122010000012345?`;

export const MESSAGES: readonly Message[] = [
  {
    what: 'Adyen',
    type: JSON_TYPE,
    body: json({
      amount: { currency: 'EUR', value: 1000 },
      reference: '4012888888881881',
      paymentMethod: {
        ...{ type: 'scheme', number: CARD, expiryMonth: '03', expiryYear: '2030' },
        ...{ holderName: 'John Smith', cvc: '737' },
      },
    }),
    card: `${CARD}|737|03|2030|John Smith`,
  },
  {
    what: 'Redsys, whose expiry has the year first, with an order number that passes Luhn',
    type: FORM,
    body: form({
      ...{ DS_MERCHANT_ORDER: '4012888888881881', DS_MERCHANT_PAN: CARD, DS_MERCHANT_EXPIRYDATE: '3412' },
      ...{ DS_MERCHANT_CVV2: '123', DS_MERCHANT_CURRENCY: '978' },
    }),
    card: `${CARD}|123|12|34|-`,
    shown: ['978'],
  },
  {
    what: 'USAePay',
    type: FORM,
    body: form({ UMcard: CARD, UMexpir: '0929', UMcvv2: '435', UMname: 'John Doe', UMinvoice: '1234' }),
    card: `${CARD}|435|09|29|John Doe`,
    shown: ['1234'],
  },
  {
    what: 'MIGS, with a reference that passes Luhn',
    type: FORM,
    body: form({
      ...{ vpc_MerchTxnRef: '4012888888881881', vpc_CardNum: OTHER, vpc_CardExp: '2805' },
      ...{ vpc_CardSecurityCode: '100' },
    }),
    card: `${OTHER}|100|05|28|-`,
  },
  {
    what: 'MercadoPago, with the number of a document',
    type: JSON_TYPE,
    body: json({
      ...{ card_number: CARD, expiration_month: 11, expiration_year: 2030, security_code: '123' },
      cardholder: { name: 'APRO', identification: { type: 'CPF', number: '4012888888881881' } },
    }),
    card: `${CARD}|123|11|2030|APRO`,
  },
  {
    what: 'numbers of documents and taxes alone',
    type: JSON_TYPE,
    body: json({
      payer: { identification: { type: 'CNPJ', number: CARD }, documents: [{ type: 'RG', number: OTHER }] },
      ...{ tax_id: OTHER, passportNumber: THIRD },
    }),
    card: 'none',
  },
  {
    what: 'numbers of orders and the like alone',
    type: JSON_TYPE,
    body: json({
      order: { number: CARD, id: Number(OTHER) },
      ...{ order_id: OTHER, invoiceNumber: THIRD, phone: { number: CARD }, EchoToken: OTHER, IBAN: CARD },
    }),
    card: 'none',
  },
  {
    what: 'an account number of no network',
    type: JSON_TYPE,
    body: json({ account: '8700112233445567', debtorAccount: { number: CARD } }),
    card: 'none',
  },
  {
    what: 'members that only have values',
    type: JSON_TYPE,
    body: json({
      ...{ cardNumber: { value: CARD }, expiryDate: { value: '12/28' }, securityCode: { value: '321' } },
      cardholderName: { value: 'A B' },
    }),
    card: `${CARD}|321|12|28|A B`,
  },
  {
    what: 'eWAY, with a start date',
    type: JSON_TYPE,
    body: json({
      Customer: {
        FirstName: 'Jo',
        CardDetails: {
          ...{ Name: 'John Smith', Number: '4444333322221111', ExpiryMonth: '12', ExpiryYear: '29' },
          ...{ StartMonth: '01', StartYear: '20', CVN: '123' },
        },
      },
    }),
    card: '4444333322221111|123|12|29|John Smith',
  },
  {
    what: 'Opayo, with a start date and a number of 13 digits',
    type: FORM,
    body: form({
      ...{ VendorTxCode: 'T-1', CardHolder: 'Mr T Ester', CardNumber: '4929000000006', StartDate: '0121' },
      ...{ ExpiryDate: '1129', CV2: '123' },
    }),
    card: '4929000000006|123|11|29|Mr T Ester',
  },
  {
    what: 'Braintree',
    type: JSON_TYPE,
    body: json({
      creditCard: { number: CARD, cvv: '100', expirationDate: '05/2029', cardholderName: 'Ada L' },
    }),
    card: `${CARD}|100|05|2029|Ada L`,
  },
  {
    what: 'Checkout.com',
    type: JSON_TYPE,
    body: json({
      source: { type: 'card', number: CARD, expiry_month: 6, expiry_year: 2029, cvv: '100', name: 'Bruce W' },
      amount: 6540,
    }),
    card: `${CARD}|100|6|2029|Bruce W`,
  },
  {
    what: 'a form builder, with names in members',
    type: JSON_TYPE,
    body: json({
      fields: [
        { id: 1, name: 'cc_number', value: '4111 1111 1111 1111' },
        { id: 2, name: 'cc_exp', value: '12/29' },
        { id: 3, name: 'cc_cvv', value: '987' },
      ],
    }),
    card: '4111 1111 1111 1111|987|12|29|-',
  },
  {
    what: 'names and values in pairs',
    type: JSON_TYPE,
    body: json({
      entries: [
        ['card_number', CARD],
        ['cvv', '987'],
      ],
    }),
    card: `${CARD}|987|-|-|-`,
  },
  {
    what: 'a year first, by the name',
    type: JSON_TYPE,
    body: json({ cc: { num: CARD, exp_yymm: '1012' } }),
    card: `${CARD}|-|12|10|-`,
  },
  {
    what: 'short names of month and year',
    type: JSON_TYPE,
    body: json({ cc: { num: CARD, mon: 7, yr: 29, verification: '987' } }),
    card: `${CARD}|987|7|29|-`,
  },
  {
    what: 'an address with the values of a form',
    type: JSON_TYPE,
    body: json({ url: `https://pay.example/?pan=${CARD}&cvv=987&exp=1229` }),
    card: `${CARD}|987|12|29|-`,
  },
  {
    what: 'lines of names and values',
    type: 'text/yaml',
    body: `card:\n  number: ${CARD}\n  cvv: 987\n  expiry: 12/29\n`,
    card: `${CARD}|987|12|29|-`,
  },
  {
    what: 'a code behind a word with a character of two units',
    type: JSON_TYPE,
    body: `{"pan":"${CARD}","note":"a\\ud83d\\ude00 cvv 987"}`,
    card: `${CARD}|987|-|-|-`,
  },
  {
    what: 'the spaces of HTML',
    type: 'text/html',
    body: '<p>Card: <b>4111&nbsp;1111&nbsp;1111&nbsp;1111</b>, CVC <b>987</b><br></p>',
    card: '4111 1111 1111 1111|987|-|-|-',
    hidden: ['1111'],
  },
  {
    what: 'JSON under the type of a form, as curl sends it',
    type: FORM,
    body: json({ pan: CARD, cvv: '987' }),
    card: `${CARD}|987|-|-|-`,
  },
  {
    what: 'XML with names in attributes',
    type: XML,
    body: `<form><field name="card_number">${CARD}</field><add key="cvv" value="987"/><field name="exp_date">1229</field></form>`,
    card: `${CARD}|987|12|29|-`,
  },
  {
    what: 'JSON in a text of JSON',
    type: JSON_TYPE,
    body: json({ event: 'payment', payload: json(INNER) }),
    card: `${CARD}|555|1|2030|Zoë B`,
  },
  {
    what: 'JSON in a text of JSON, with escapes',
    type: JSON_TYPE,
    body: json({ payload: json({ pan: CARD, exp: '12/29', cvv: '987' }).replaceAll('/', '\\/') }),
    card: `${CARD}|987|12|29|-`,
  },
  {
    what: 'JSON in a value of a form',
    type: FORM,
    body: form({ event: 'payment', payload: json(INNER) }),
    card: `${CARD}|555|1|2030|Zoë B`,
  },
  {
    what: 'XML in a text of JSON',
    type: JSON_TYPE,
    body: json({
      xml: `<?xml version="1.0"?>\n<card><pan>${CARD}</pan><cvc>321</cvc><exp>12/29</exp></card>`,
    }),
    card: `${CARD}|321|12|29|-`,
  },
  {
    what: 'XML in the text of an element, escaped and as CDATA',
    type: XML,
    body: `<env><a>&lt;card&gt;&lt;pan&gt;${CARD}&lt;/pan&gt;&lt;cvc&gt;321&lt;/cvc&gt;&lt;/card&gt;</a><b><![CDATA[<card><pan>${OTHER}</pan><cvc>654</cvc></card>]]></b></env>`,
    card: `${CARD}|321|-|-|-`,
    hidden: [OTHER, '654'],
  },
  {
    what: 'a note in a member',
    type: JSON_TYPE,
    body: json({ booking: 'B-17', note: `VISA ${CARD} exp 12/29 cvv 123, please charge at arrival` }),
    card: `${CARD}|123|12|29|-`,
  },
  {
    what: 'a number by its name, and another one with a code in a note',
    type: JSON_TYPE,
    body: json({ note: `old card ${OTHER}, CVC: 654`, card_number: CARD }),
    card: `${CARD}|-|-|-|-`,
    hidden: [OTHER, '654'],
  },
  {
    what: 'a number with other separators and digits',
    type: JSON_TYPE,
    body: json({ card_number: '4111\u00a01111\u00a01111\u200b\u00a01111', cvv: '987' }),
    card: '4111 1111 1111 1111|987|-|-|-',
    hidden: ['1111'],
  },
  {
    what: 'digits of full width',
    type: JSON_TYPE,
    body: json({ card_number: '４１１１１１１１１１１１１１１１' }),
    card: `${CARD}|-|-|-|-`,
    hidden: ['１１１１'],
  },
  {
    what: 'zeros beside a number',
    type: JSON_TYPE,
    body: json({ card_number: '0000000000000000', number: CARD }),
    card: `${CARD}|-|-|-|-`,
  },
  { what: 'zeros', type: JSON_TYPE, body: json({ card_number: '0000 0000 0000 0000' }), card: 'none' },
  {
    what: 'a strong name after a weak one',
    type: JSON_TYPE,
    body: json({ account: CARD, number: CARD, card_number: '4111111111111112' }),
    card: '4111111111111112|-|-|-|-',
    hidden: [CARD],
  },
  {
    what: 'a gift card that passes Luhn, before the card',
    type: JSON_TYPE,
    body: json({
      payments: [
        { type: 'giftcard', number: '6006491260550227', cvc: '7312' },
        { type: 'scheme', number: CARD, cvc: '737' },
      ],
    }),
    card: `${CARD}|737|-|-|-`,
    hidden: ['6006491260550227', '7312'],
  },
  {
    what: 'codes of other things in the object of the card',
    type: JSON_TYPE,
    body: json({
      card: { number: CARD, code: '123', currencyCode: '840', countryCode: 276, responseCode: '100' },
    }),
    card: `${CARD}|123|-|-|-`,
    shown: ['840', '276', '100'],
  },
  {
    what: 'SAP, with a date of eight digits',
    type: XML,
    body: `<E1EDKCC><CCINS>VISA</CCINS><CCNUM>${CARD}</CCNUM><EXDATAB>20240101</EXDATAB><EXDATBI>20291231</EXDATBI><CCNAME>A B</CCNAME></E1EDKCC>`,
    card: `${CARD}|-|12|2029|A B`,
  },
  {
    what: 'a month of XML Schema',
    type: XML,
    body: `<Card><Number>${CARD}</Number><ExpirationMonth>--09</ExpirationMonth><ExpirationYear>2029</ExpirationYear></Card>`,
    card: `${CARD}|-|09|2029|-`,
  },
  {
    what: 'a month of XML Schema as the expiry',
    type: XML,
    body: `<Card><Number>${CARD}</Number><Expiry>--09</Expiry><ExpiryYear>2029</ExpiryYear></Card>`,
    card: `${CARD}|-|09|2029|-`,
  },
  {
    what: 'the name of a month',
    type: JSON_TYPE,
    body: json({ pan: CARD, expiry: 'Dec 2029' }),
    card: `${CARD}|-|12|2029|-`,
  },
  {
    what: 'first and last name',
    type: JSON_TYPE,
    body: json({ pan: CARD, first_name: 'Ann Marie', last_name: 'Lee' }),
    card: `${CARD}|-|-|-|Ann Marie Lee`,
  },
  {
    what: 'a name beside a last name',
    type: JSON_TYPE,
    body: json({ card: { number: CARD, holder: { name: 'Ada', surname: 'Moreau' } } }),
    card: `${CARD}|-|-|-|Ada Moreau`,
  },
  {
    what: 'a first name alone',
    type: JSON_TYPE,
    body: json({ pan: CARD, first_name: 'Ann' }),
    card: `${CARD}|-|-|-|-`,
  },
  {
    what: 'a row of values',
    type: TEXT,
    body: `4111111111111111|12|2029|123|Ann B\n${OTHER}|01/30|456\n`,
    card: `${CARD}|123|12|2029|-`,
    hidden: [OTHER, '456'],
  },
  {
    what: 'a number, a date and a code in a row',
    type: TEXT,
    body: 'please take 4111 1111 1111 1111 12/29 123',
    card: '4111 1111 1111 1111|123|12|29|-',
  },
  {
    what: 'an order number with the look of a card before the card',
    type: TEXT,
    body: `Order no. 4012888888881881\nPAN ${CARD}\nCVV2 is 123`,
    card: `${CARD}|123|-|-|-`,
  },
  {
    what: 'an e-mail in HTML',
    type: 'text/html',
    body: `<!DOCTYPE html><html><body><table><tr><td>Card number</td><td>${CARD}</td></tr><tr><td>CVV:</td><td><b>123</b></td></tr><tr><td>Expiry</td><td>12/29</td></tr></table><br></body></html>`,
    card: `${CARD}|123|12|29|-`,
  },
  {
    what: 'XML in UTF-16 with a mark',
    type: XML,
    body: Buffer.from(
      `\ufeff<?xml version="1.0" encoding="UTF-16"?><a><pan>${CARD}</pan><holder>Jürgen Ł</holder></a>`,
      'utf16le',
    ),
    card: `${CARD}|-|-|-|Jürgen Ł`,
  },
  {
    what: 'JSON in UTF-16 without a mark',
    type: JSON_TYPE,
    body: utf16be(json({ pan: CARD, holder: 'Zoë' })),
    card: `${CARD}|-|-|-|Zoë`,
  },
  {
    what: 'UTF-16 by its name, without a mark',
    type: 'application/json; charset=utf-16',
    body: Buffer.from(json({ pan: CARD, holder: 'Zoë' }), 'utf16le'),
    card: `${CARD}|-|-|-|Zoë`,
  },
  {
    what: 'XML whose declaration alone tells its charset',
    type: 'application/xml',
    body: Buffer.from(
      `<?xml version='1.0' encoding='iso-8859-1'?><a><pan>${CARD}</pan><holder>Weiß</holder></a>`,
      'latin1',
    ),
    card: `${CARD}|-|-|-|Weiß`,
  },
  {
    what: 'XML in UTF-8 that names UTF-16, as programs write it into texts',
    type: XML,
    body: `<?xml version="1.0" encoding="utf-16"?><a><pan>${CARD}</pan><holder>Weiß</holder></a>`,
    card: `${CARD}|-|-|-|Weiß`,
  },
  {
    what: 'a form in Windows-1252',
    type: `${FORM}; charset=windows-1252`,
    body: `pan=${CARD}&cvv=123&holder=J%FCrgen+%8Ei`,
    card: `${CARD}|123|-|-|Jürgen Ži`,
  },
  {
    what: 'a form that tells its charset in a field',
    type: FORM,
    body: `_charset_=windows-1252&pan=${CARD}&holder=J%FCrgen`,
    card: `${CARD}|-|-|-|Jürgen`,
  },
  {
    what: 'a form in another charset than it says',
    type: FORM,
    body: `pan=${CARD}&holder=J%FCrgen`,
    card: 'invalid_request',
  },
  {
    what: 'bytes of Windows-1252 that are not assigned',
    type: 'text/plain; charset=windows-1252',
    body: Buffer.concat([Buffer.from(`pan ${CARD} `), Uint8Array.of(0x81)]),
    card: 'invalid_request',
  },
  {
    what: 'bytes that are no UTF-8',
    type: JSON_TYPE,
    body: Buffer.from(json({ pan: CARD, holder: 'Jürgen' }), 'latin1'),
    card: 'invalid_request',
  },
  {
    what: 'half a character of UTF-16',
    type: 'application/json; charset=utf-16le',
    body: Buffer.concat([Buffer.from(json({ pan: CARD }), 'utf16le'), Uint8Array.of(0x20)]),
    card: 'invalid_request',
  },
  {
    what: 'another charset',
    type: 'application/json; charset="Shift_JIS"',
    body: json({ pan: CARD }),
    card: 'charset_unsupported',
  },
  {
    what: 'another charset in the declaration',
    type: XML,
    body: `<?xml version="1.0" encoding="KOI8-R"?><pan>${CARD}</pan>`,
    card: 'charset_unsupported',
  },
  { what: 'track 1', type: JSON_TYPE, body: json({ data: TRACK_1 }), card: 'track_data_refused' },
  {
    what: 'track 2 beside a card, encoded',
    type: FORM,
    body: form({ pan: CARD, swipe: TRACK_2 }),
    card: 'track_data_refused',
  },
  { what: 'a track in text', type: TEXT, body: `Card ${CARD}\n${TRACK_2}`, card: 'track_data_refused' },
  {
    what: 'track 2 without sentinels',
    type: XML,
    body: `<a><pan>${CARD}</pan><x>${CARD}=29122010000012345</x></a>`,
    card: 'track_data_refused',
  },
  {
    what: 'track 2 with the separator of chips, by its name',
    type: JSON_TYPE,
    body: json({ pan: CARD, track2: `${CARD}D29122010000012345F` }),
    card: 'track_data_refused',
  },
  {
    what: 'lines of JSON',
    type: 'application/x-ndjson',
    body: `${json({ number: CARD, cvv: '123', month: 9, year: 2029 })}\n${json({ number: OTHER, cvv: '456' })}\n`,
    card: `${CARD}|123|9|2029|-`,
    hidden: [OTHER, '456'],
  },
  {
    what: 'a table with tabs',
    type: 'text/tab-separated-values; charset=utf-8',
    body: `holder\tpan\tcode\texp\nAnn B\t${CARD}\t123\t12/29\nBo C\t${OTHER}\t456\t01/30\n`,
    card: `${CARD}|123|12|29|Ann B`,
    hidden: [OTHER, '456'],
  },
  {
    what: 'a table with semicolons, quotes and a last line without an end',
    type: CSV,
    body: `\ufeff"name";"card number";"cvv2"\r\n"B ""Bo"" C";"${CARD}";"123"\r\n"A;\nB";${OTHER};456`,
    card: `${CARD}|123|-|-|B "Bo" C`,
    hidden: [OTHER, '456'],
  },
  {
    what: 'a table under another type',
    type: 'application/octet-stream',
    body: `order,card_number,cvv\n1001,${CARD},123\n`,
    card: `${CARD}|123|-|-|-`,
    shown: ['1001'],
  },
  { what: 'a table without names', type: CSV, body: `Ann,${CARD},123\n`, card: 'invalid_request' },
  {
    what: 'a table with more fields than columns',
    type: CSV,
    body: `pan,cvv\n${CARD},123,456\n`,
    card: 'invalid_request',
  },
  {
    what: 'a table with an open quote',
    type: CSV,
    body: `pan,cvv\n"${CARD},123\n`,
    card: 'invalid_request',
  },
  {
    what: 'a form in parts with JSON in a file',
    type: MULTIPART,
    body: multipart([
      ['name="order"', '1001'],
      ['name="blob"; filename="blob"\r\nContent-Type: application/json', json(INNER)],
      ['name="card[cvv]"', '987'],
    ]),
    card: `${CARD}|555|1|2030|Zoë B`,
    hidden: ['987'],
    shown: ['1001'],
  },
  {
    what: 'a form in parts whose Content-Type has no boundary',
    type: 'multipart/form-data',
    body: multipart([
      ['name=pan', CARD],
      ['name=cvv', '987'],
    ]),
    card: `${CARD}|987|-|-|-`,
  },
  {
    what: 'a form in parts without an end',
    type: MULTIPART,
    body: multipart([['name=pan', CARD]], ''),
    card: 'invalid_request',
  },
  {
    what: 'a form in parts with an encoded one',
    type: MULTIPART,
    body: multipart([['name=pan\r\nContent-Transfer-Encoding: base64', btoa(CARD)]]),
    card: 'invalid_request',
  },
  {
    what: 'a form in parts with one in another charset',
    type: MULTIPART,
    body: multipart([['name=pan\r\nContent-Type: text/plain; charset=koi8-r', `${CARD}ü`]]),
    card: 'charset_unsupported',
  },
  {
    what: 'a form in parts with a picture',
    type: MULTIPART,
    body: Buffer.concat([
      Buffer.from(multipart([['name=pan', CARD]], '\r\nContent-Disposition: form-data; name=x\r\n\r\n')),
      Uint8Array.of(0x89, 0xff, 0xd8),
      Buffer.from('\r\n--b0--'),
    ]),
    card: 'invalid_request',
  },
  {
    what: 'a name twice',
    type: JSON_TYPE,
    body: `{"pan":"${CARD}","cvv":"123","cvv":"456"}`,
    card: 'invalid_json',
  },
  {
    what: 'JSON without an end',
    type: JSON_TYPE,
    body: `{"pan":"${CARD}","cvv":"123"`,
    card: 'invalid_json',
  },
  {
    what: 'XML without an end',
    type: XML,
    body: `<a><pan>${CARD}</pan><cvv>123</cvv>`,
    card: 'invalid_request',
  },
  {
    what: 'JSON too deep',
    type: JSON_TYPE,
    body: `{"pan":"${CARD}","a":${'['.repeat(64)}${']'.repeat(64)}}`,
    card: 'json_too_deep',
  },
  {
    what: 'a number in floating notation, which a program may have rounded',
    type: JSON_TYPE,
    body: json({ card_number: `${CARD}.0`, pan: `${OTHER},00` }),
    card: 'none',
  },
  {
    what: 'a number in floating notation beside another one',
    type: CSV,
    body: `pan,other\n${OTHER}.0,${CARD}\n`,
    card: `${CARD}|-|-|-|-`,
  },
  {
    what: 'a code behind a number',
    type: JSON_TYPE,
    body: json({ card_number: `${CARD} 123`, others: [{ card_number: `${THIRD} 4567` }] }),
    card: `${CARD}|123|-|-|-`,
    hidden: ['4567'],
  },
  {
    what: 'an expiry behind a number',
    type: JSON_TYPE,
    body: json({ card_number: `${CARD} 12` }),
    card: `${CARD}|-|-|-|-`,
    shown: ['12'],
  },
  {
    what: 'codes as numbers with a fraction, a sign or an exponent',
    type: JSON_TYPE,
    body: `{"pan":"${CARD}","cvv":987.0,"a":{"cvc":-456},"b":{"cvv2":7.89e2},"amount":12.5}`,
    card: `${CARD}|-|-|-|-`,
    hidden: ['987', '456', '7.89e2'],
    shown: ['12.5'],
  },
  {
    what: 'cards in comments and instructions of XML',
    type: XML,
    body: `<a><!-- <pan>${OTHER}</pan> --><?old pan="${THIRD}" cvv="1234"?><pan>${CARD}</pan><!-- <cvv>456</cvv> --><f>cvv</f><!-- 7 --><f>123</f><!-- cvc: 789, v 2.10 --></a>`,
    card: `${CARD}|123|-|-|-`,
    hidden: [OTHER, THIRD, '1234', '456', '789'],
    shown: ['v 2.10'],
  },
  {
    what: 'a tax number and telephone numbers like those of cards',
    type: JSON_TYPE,
    body: json({ siret: '36252187900035', msisdn: '4917612345679', text: 'Call +4917612345679', x: CARD }),
    card: `${CARD}|-|-|-|-`,
  },
  {
    what: 'tax and telephone numbers, and a token, alone',
    type: JSON_TYPE,
    body: json({
      siret: '36252187900035',
      cell: '4917612345679',
      to: '+4917612345679',
      paymentToken: { value: CARD },
    }),
    card: 'none',
  },
  {
    what: 'a code in Spanish',
    type: JSON_TYPE,
    body: json({ numeroTarjeta: CARD, codigoSeguridad: '123', titular: 'Ana' }),
    card: `${CARD}|123|-|-|Ana`,
  },
  {
    what: 'codes in German, French and Italian',
    type: JSON_TYPE,
    body: json({ pan: CARD, a: { Prüfziffer: '456', cryptogramme: 789 }, b: 'codice di sicurezza: 4567' }),
    card: `${CARD}|456|-|-|-`,
    hidden: ['456', '789', '4567'],
  },
  {
    what: 'codes joined to their names',
    type: TEXT,
    body: `${CARD} exp 12/27 CVV123, the other has cvc_4567`,
    card: `${CARD}|123|12|27|-`,
    hidden: ['4567'],
  },
  {
    what: 'a code joined to its name in a text of its own',
    type: JSON_TYPE,
    body: json({ pan: CARD, notes: ['CVV123', 'order AB456'] }),
    card: `${CARD}|123|-|-|-`,
    shown: ['order AB456'],
  },
  {
    what: 'a form in parts with a code around them, and a file named like a parameter',
    type: MULTIPART,
    body: `cvv: 123\r\n${multipart([
      ['filename="; name=x"; name="cvc"', '456'],
      ['name="pan"', CARD],
    ])}\r\n${OTHER} cvv: 789`,
    card: `${CARD}|456|-|-|-`,
    hidden: ['123', '789', OTHER],
  },
];
