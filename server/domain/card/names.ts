/** What a value of a card is, told by its name. */
export type CardRole = 'number' | 'cvv' | 'month' | 'year' | 'expiry' | 'holder';

/** A role, and whether the name alone is enough: a weak one counts beside the number only. */
export interface NamedRole {
  readonly role: CardRole;
  readonly strong: boolean;
}

const EXPIRY = '(?:exp|expire|expires|expiry|expiration|validthru|validuntil|validto|goodthru)(?:date)?';
const CARD = '(?:card|cc|creditcard|debitcard|paymentcard)';

const STRONG: readonly (readonly [CardRole, RegExp])[] = [
  [
    'number',
    new RegExp(
      `^(?:${CARD}(?:number|num|no|pan|acctnumber)|[fd]?pan|acct(?:number|num|no)|primaryaccountnumber)$`,
    ),
  ],
  [
    'cvv',
    new RegExp(
      `^${CARD}?(?:cvv2?|cvc2?|ccv2?|cvn2?|csc|cvd|cav2?|(?:cvv2?|cvc2?|csc|security|verification)(?:code|value|number|num)|verification(?:value|code)2?)$`,
    ),
  ],
  ['cvv', new RegExp(`^${CARD}(?:code|cid|verification)$`)],
  ['month', new RegExp(`^${CARD}?${EXPIRY}(?:month|mm|mon|m)$|^month${EXPIRY}$`)],
  ['year', new RegExp(`^${CARD}?${EXPIRY}(?:year|yyyy|yy|yr|y)$|^year${EXPIRY}$`)],
  ['expiry', new RegExp(`^${CARD}?(?:date)?(?:of)?${EXPIRY}(?:monthyear|mmyy|yymm|mmyyyy)?$`)],
  [
    'holder',
    new RegExp(
      `^(?:${CARD}?(?:holder|owner)s?(?:full)?name|${CARD}(?:holder|owner|name)|holder|nameon${CARD}|embossed?name)$`,
    ),
  ],
];

const WEAK: Readonly<Record<string, CardRole>> = {
  number: 'number',
  num: 'number',
  n: 'number',
  account: 'number',
  accountnumber: 'number',
  card: 'number',
  cc: 'number',
  creditcard: 'number',
  cid: 'cvv',
  code: 'cvv',
  month: 'month',
  year: 'year',
  name: 'holder',
  fullname: 'holder',
  owner: 'holder',
  billingname: 'holder',
};

const NAME_MAX = 64;

function plain(name: string): string {
  return name.length > NAME_MAX ? '' : name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

function strongRole(name: string): CardRole | undefined {
  return STRONG.find(([, pattern]) => pattern.test(name))?.[0];
}

/**
 * What a value is by its name, in the spellings that are common: `card_number`, `cardNumber` and `Card-Number` are
 * the same. The name of what it stands in counts too: `month` in `expiry`, `number` in `card`.
 */
export function cardRole(name: string, within: string): NamedRole | undefined {
  const own = plain(name);
  const role = strongRole(own) ?? strongRole(plain(within) + own);
  if (role !== undefined) {
    return { role, strong: true };
  }
  const weak = Object.hasOwn(WEAK, own) ? WEAK[own] : undefined;
  return weak === undefined ? undefined : { role: weak, strong: false };
}
