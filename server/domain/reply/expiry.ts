/** The notations of months, years and expiry dates. */

/** A part of a text, and what it says: digits, of a month also where it is a name. */
export interface Part {
  readonly from: number;
  readonly to: number;
  readonly value: string;
}

export interface Expiry {
  readonly month: Part;
  readonly year: Part;
}

export const MONTH = /^(?:0?[1-9]|1[0-2])$/;
export const YEAR = /^(?:20)?\d\d$/;

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
/** Their names in English, whole or short. */
const NAMED =
  '(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)';
const MONTH_1 = '(?<month>0?[1-9]|1[0-2])';
const MONTH_2 = '(?<month>0[1-9]|1[0-2])';
const MONTH_NAME = `(?<month>${NAMED})`;
const YEAR_4 = '(?<year>20\\d\\d)';
const YEAR_2 = '(?<year>\\d\\d)';
const ANY_YEAR = '(?<year>20\\d\\d|\\d\\d)';
const DAY = '(?:0?[1-9]|[12]\\d|3[01])';
const DAY_2 = '(?:0[1-9]|[12]\\d|3[01])';
const BETWEEN = String.raw`[\s\/|.,;'-]{1,5}`;
const YEAR_FIRST = `^${ANY_YEAR}${MONTH_2}$`;

function compiled(forms: readonly string[]): readonly RegExp[] {
  return forms.map((form) => new RegExp(form, 'di'));
}

/** Where two fit, the first counts. */
const FORMS = compiled([
  `^${MONTH_1}${BETWEEN}${ANY_YEAR}$`,
  `^${YEAR_4}${BETWEEN}${MONTH_1}(?:${BETWEEN}${DAY}(?:[t ].*)?)?$`,
  `^${DAY}${BETWEEN}${MONTH_1}${BETWEEN}${YEAR_4}$`,
  `^${MONTH_1}${BETWEEN}${DAY}${BETWEEN}${YEAR_4}$`,
  `^${MONTH_2}${ANY_YEAR}$`,
  YEAR_FIRST,
  `^${YEAR_4}${MONTH_2}${DAY_2}$`,
  `^${YEAR_2}${MONTH_2}${DAY_2}$`,
  `^${YEAR_2}${BETWEEN}${MONTH_2}$`,
  `^(?:${DAY}${BETWEEN})?${MONTH_NAME}(?:${BETWEEN})?${ANY_YEAR}$`,
  `^${YEAR_4}${BETWEEN}${MONTH_NAME}$`,
]);
const FORMS_YEAR_FIRST = [...compiled([YEAR_FIRST]), ...FORMS];
const TEXT_MAX = 40;

const MONTH_ALONE = new RegExp(`^(?:--)?(?:${MONTH_1}|${MONTH_NAME.replace('month', 'name')})(?:--)?$`, 'di');
const YEAR_ALONE = new RegExp(`^'?${ANY_YEAR}$`, 'd');
/** xs:gMonth. */
const MONTH_OF_SCHEMA = /^--(?:0[1-9]|1[0-2])(?:--)?$/;

function partAt(source: string, [from, to]: readonly [number, number]): Part {
  const written = source.slice(from, to);
  const at = MONTHS.indexOf(written.slice(0, 3).toLowerCase());
  return { from, to, value: at < 0 ? written : String(at + 1).padStart(2, '0') };
}

/**
 * Month and year of an expiry: `12/27`, `1227`, `122027`, `2712`, `202712`, `271231`, `20271231`, `2027-12-31`,
 * `31/12/2027`, `Dec 2027` and the like. Of two readings of four digits the month comes first, unless the name says
 * otherwise (`yymm`).
 */
export function readExpiry(source: string, name = ''): Expiry | undefined {
  if (source.length > TEXT_MAX) {
    return undefined;
  }
  for (const form of /yy_?mm/i.test(name) ? FORMS_YEAR_FIRST : FORMS) {
    const { month, year } = form.exec(source)?.indices?.groups ?? {};
    if (month !== undefined && year !== undefined) {
      return { month: partAt(source, month), year: partAt(source, year) };
    }
  }
  return undefined;
}

/** A month by itself: `7`, `07`, `--07`, `July`. */
export function readMonth(source: string): Part | undefined {
  const { month, name } = MONTH_ALONE.exec(source)?.indices?.groups ?? {};
  const found = month ?? name;
  return found && partAt(source, found);
}

/** A year by itself: `27`, `2027`. */
export function readYear(source: string): Part | undefined {
  const { year } = YEAR_ALONE.exec(source)?.indices?.groups ?? {};
  return year && partAt(source, year);
}

/** Tells whether an expiry is a month alone, in the notation of XML Schema. */
export function isSchemaMonth(source: string): boolean {
  return MONTH_OF_SCHEMA.test(source);
}
