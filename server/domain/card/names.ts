export type CardRole = 'number' | 'cvv' | 'month' | 'year' | 'expiry' | 'holder';

/** A role; a weak name only counts next to a number. */
export interface NamedRole {
  readonly role: CardRole;
  readonly strong: boolean;
}

/** Names of an expiry date, in lower case without separators. */
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

const WEAK: ReadonlyMap<string, CardRole> = new Map([
  ...roleOf('number', ['number', 'num', 'n', 'account', 'accountnumber', 'card', 'cc', 'creditcard']),
  ...roleOf('cvv', ['cid', 'code']),
  ...roleOf('month', ['month']),
  ...roleOf('year', ['year']),
  ...roleOf('holder', ['name', 'fullname', 'owner', 'billingname']),
]);

function roleOf(role: CardRole, names: readonly string[]): readonly (readonly [string, CardRole])[] {
  return names.map((name) => [name, role]);
}

/** Longer names have no role; this bounds the time of the patterns. */
const NAME_MAX = 64;

function plain(name: string): string {
  return name.length > NAME_MAX ? '' : name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

function strongRole(name: string): CardRole | undefined {
  return STRONG.find(([, pattern]) => pattern.test(name))?.[0];
}

/**
 * The role of a value by its name, in common spellings: `card_number`, `cardNumber` and `Card-Number` are equal. The
 * name of its parent counts as well: `month` in `expiry`, `number` in `card`.
 */
export function cardRole(name: string, within: string): NamedRole | undefined {
  const own = plain(name);
  const role = strongRole(own) ?? strongRole(plain(within) + own);
  if (role !== undefined) {
    return { role, strong: true };
  }
  const weak = WEAK.get(own);
  return weak && { role: weak, strong: false };
}
