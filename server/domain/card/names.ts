import { remembered } from '../text/remembered.ts';
import { bareName, CARD, compounds, isCodeName, isSadName } from './sensitive-names.ts';

/** `secret`: sensitive data that is no verification code; a weak one is some code, which may be one that verifies. */
export type CardRole =
  | 'number'
  | 'cvv'
  | 'month'
  | 'year'
  | 'expiry'
  | 'holder'
  | 'first'
  | 'last'
  | 'secret';

/** A role; a weak name only counts next to a number. */
export interface NamedRole {
  readonly role: CardRole;
  readonly strong: boolean;
}

/** Parts of names, as `bareName` gives them. */
const CARDS = [...CARD, 'carddata', 'carddetails', 'cardinfo', 'plaincarddata'];
const MAYBE_CARD = ['', ...CARDS];
const NUMBER = [
  ...['number', 'num', 'no', 'nr', 'nbr', 'pan', 'accountnumber', 'accountnum', 'accountno'],
  ...['acctnumber', 'acctnum', 'acctno'],
];
const VALID = ['validthru', 'validto', 'validuntil', 'goodthru'];
const EXPIRE = ['exp', 'expir', 'expire', 'expires', 'expiry', 'expiration', 'xpry', ...VALID];
const EXPIRY = compounds(EXPIRE, ['', 'date', 'dt']);
const MONTH = ['month', 'mm', 'mon', 'mth', 'm'];
const YEAR = ['year', 'yyyy', 'yy', 'yr', 'y'];
const HOLDER = compounds(['holder', 'holders', 'owner', 'owners'], ['', 'full']);
const HOLDERS = [...MAYBE_CARD.flatMap((card) => [`${card}holder`, `${card}owner`]), 'nameoncard', 'crdhldr'];
const FIRST = ['firstname', 'givenname', 'forename', 'fname', 'first'];
const LAST = ['lastname', 'surname', 'familyname', 'lname', 'last'];

function isLong(name: string): boolean {
  return name.length > 1;
}

function withRole(role: CardRole, names: readonly string[]): readonly (readonly [string, CardRole])[] {
  return names.map((name) => [name, role]);
}

/**
 * Names that say by themselves what a value is. Besides common words: ISO 20022 (`XpryDt`, `Crdhldr`), SAP (`EXDATBI`),
 * Orbital (`AVSname`), EMV in JSON (`applicationExpirationDate`), and German, Spanish, Portuguese, French, Italian and Dutch.
 */
const STRONG: ReadonlyMap<string, CardRole> = new Map([
  ...withRole('number', [
    ...compounds(CARDS, NUMBER),
    ...compounds(['', 'f', 'd', 'device', 'clear', 'plain', 'raw', 'full'], ['pan', 'cardnumber']),
    ...compounds(['', 'application', 'device'], ['primaryaccountnumber']),
    ...['acctnumber', 'acctnum', 'acctno', 'ccn', 'pannumber', 'vcn', 'kartennummer', 'kreditkartennummer'],
    ...['numerotarjeta', 'numerodetarjeta', 'numtarjeta', 'numerocartao', 'numerodocartao', 'numcartao'],
    ...['numerocarte', 'numcarte', 'numerocarta', 'kaartnummer'],
  ]),
  ...withRole('month', [
    ...compounds(compounds(MAYBE_CARD, EXPIRY), MONTH),
    ...compounds(['month'], EXPIRY),
    ...compounds(CARDS, MONTH.filter(isLong)),
  ]),
  ...withRole('year', [
    ...compounds(compounds(MAYBE_CARD, EXPIRY), YEAR),
    ...compounds(['year'], EXPIRY),
    ...compounds(CARDS, YEAR.filter(isLong)),
  ]),
  ...withRole('expiry', [
    ...compounds(compounds(MAYBE_CARD, EXPIRY), ['', 'monthyear', 'mmyy', 'yymm', 'mmyyyy', 'yyyymm']),
    ...compounds(['dateof', 'date', 'application', 'monthyearof'], EXPIRY),
    ...[
      'exdatbi',
      'datbi',
      'ccvalidt',
      'edate',
      'ablaufdatum',
      'gueltigbis',
      'vencimiento',
      'fechavencimiento',
    ],
    ...['fechacaducidad', 'caducidad', 'validade', 'datavalidade', 'scadenza', 'datascadenza', 'vervaldatum'],
  ]),
  ...withRole('holder', [
    ...compounds(compounds(MAYBE_CARD, HOLDER), ['name', 'nm']),
    ...compounds(CARDS, ['holder', 'owner', 'name']),
    ...['holder', 'crdhldrnm', 'crdhldr', 'avsname', 'embossname', 'embossedname', 'nameonaccount'],
    ...compounds(['nameon', 'nameonthe'], CARD),
    ...[
      'karteninhaber',
      'titular',
      'titulartarjeta',
      'nombretitular',
      'nometitular',
      'titulaire',
      'titolare',
    ],
  ]),
  ...withRole('first', compounds([...HOLDERS, ...CARD], FIRST)),
  ...withRole('last', compounds([...HOLDERS, ...CARD], LAST)),
]);

const WEAK: ReadonlyMap<string, CardRole> = new Map([
  ...withRole('number', ['number', 'num', 'no', 'n', 'account', 'accountnumber', 'accountnum', 'accountno']),
  ...withRole('number', ['acct', 'card', 'cc', 'creditcard', 'debitcard', 'tarjeta', 'karte']),
  ...withRole('month', MONTH.filter(isLong)),
  ...withRole('year', YEAR.filter(isLong)),
  ...withRole('holder', ['name', 'fullname', 'owner', 'billingname', 'nm']),
  ...withRole('first', FIRST),
  ...withRole('last', LAST),
]);

/** Names that say nothing: the parent's name counts. */
const EMPTY_NAMES: ReadonlySet<string> = new Set([
  ...['', 'value', 'val', 'text', 'content', 'contents', 'raw', 'plain', 'plaintext', 'cleartext', 'string'],
]);
/** Names between an expiry and its month and year. */
const BETWEEN_NAMES: ReadonlySet<string> = new Set(['', 'date', 'value', 'dt']);
/** Names that mean what their parent is the number of. */
const BARE_NUMBERS: ReadonlySet<string> = new Set([
  'number',
  'num',
  'no',
  'n',
  'nr',
  'id',
  'code',
  'value',
  'type',
]);

/** What a number belongs to that is no card's. */
const OTHER_NUMBER =
  /ident|document|passport|licen[cs]e|tax|^vat|vat(?:no|nr|num|id|code)|fiscal|order|invoice|phone|mobile|msisdn|whatsapp|^cell|^tel|fax|siret|cnpj|cpf|transaction|reference|booking|reservation|ticket|loyalty|tracking|shipment|iban|bank|debtor|creditor|routing|policy|contract|voucher|session|barcode/;
const OTHER_ENDING =
  /(?:id|ids|ref|key|token|hash|guid|signature|nonce|serial|stamp|time|amount|sku|ean|gtin|upc|isbn|imei|rrn|stan|arn|trace)$/;
const BANK = /bank|iban|debtor|creditor|dbtr|cdtr/;
const VERIFYING = /cv[vcn]|csc|secur|verif|validat|^code$|^cid$/;
/** Codes that verify nothing. */
const OTHER_CODE =
  /countr|currenc|post|zip|area|region|state|lang|locale|respon|result|reason|status|error|auth|approv|merchant|category|product|city|avs|promo|coupon|discount|hotel|rate|room|plan|airline|iata|agen|property|brand|network|bank|branch|sort|swift|transaction|order|terminal|reference|source|mcc|entry|process|indicator|type|phone|dial|mode|method|service/;

const plain = remembered(bareName);
const isOther = remembered((name) => OTHER_NUMBER.test(name));
const isOfBank = remembered((name) => BANK.test(name));
const endsOther = remembered((name) => OTHER_ENDING.test(name));
const isVerifying = remembered((name) => VERIFYING.test(name) && !OTHER_CODE.test(name));
const isAnyCode = remembered((name) => name.endsWith('code') && !OTHER_CODE.test(name));

function strongRole(name: string): CardRole | undefined {
  return STRONG.get(name) ?? (isSadName(name) ? (isCodeName(name) ? 'cvv' : 'secret') : undefined);
}

function weakRole(own: string, within: string): CardRole | undefined {
  const role = WEAK.get(own) ?? (isVerifying(own) ? 'cvv' : isAnyCode(own) ? 'secret' : undefined);
  const isAnother = role === 'number' && (BARE_NUMBERS.has(own) ? isOther(within) : isOfBank(within));
  return isAnother ? undefined : role;
}

/** Null, unlike undefined, is remembered. */
function findRole(name: string, within: string, above: string): NamedRole | null {
  let [own, outer, next] = [bareName(name), bareName(within), bareName(above)];
  if (EMPTY_NAMES.has(own)) {
    [own, outer, next] = [outer, next, ''];
  }
  const strong =
    strongRole(own) ??
    (outer === '' ? undefined : strongRole(outer + own)) ??
    (next !== '' && BETWEEN_NAMES.has(outer) ? strongRole(next + own) : undefined);
  if (strong !== undefined) {
    return { role: strong, strong: true };
  }
  const weak = weakRole(own, outer);
  return weak === undefined ? null : { role: weak, strong: false };
}

/** Names in one object that are remembered. */
const NAMES_MAX = 64;
const rolesOfNames = remembered((names) => {
  const [within = '', above = ''] = names.split('\n', 2);
  return remembered((name) => findRole(name, within, above), NAMES_MAX);
});

/**
 * The roles of values by their names, in common spellings: `card_number`, `cardNumber` and `Card-Number` are equal. The
 * names of their parents count as well: `month` in `expiry`, `number` in `card`, `value` in `cardNumber`. `above` is the
 * name of what `within` is in.
 */
export function rolesWithin(within: string, above: string): (name: string) => NamedRole | null {
  return rolesOfNames(`${within}\n${above}`);
}

/** The role of a value by its name alone. */
export const cardRole: (name: string) => NamedRole | null = remembered((name) => findRole(name, '', ''));

/** Tells whether a number under these names is of a document, an order or the like, and so no card's. */
export function isOtherNumber(name: string, within: string): boolean {
  const own = plain(name);
  if (EMPTY_NAMES.has(own)) {
    return isOther(plain(within)) || endsOther(plain(within));
  }
  return isOther(own) || endsOther(own) || (BARE_NUMBERS.has(own) && isOther(plain(within)));
}
