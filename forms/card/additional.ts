/** The fields that the owner has added, by their types; they are posted by their names. */
import type { PageField } from '../../server/form/schema.ts';
import { digitsOf } from '../fields/digits.ts';
import type { FieldPlan, FormField } from '../fields/field.ts';
import { createField } from '../fields/make-field.ts';
import type { Problem } from '../fields/validate.ts';
import { type FormPart, type FormPartContext, isChecked, isVisible } from './parts.ts';

const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;
const EMAIL_MAX = 254;
/** A telephone number with its country's code (E.164), without the shortest ones of single towns. */
const TEL_DIGITS = { least: 5, most: 15 };

/** The codes of ISO 3166-1. */
const COUNTRIES =
  'AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW';

/** All countries in the words of a language, in its order. */
function countriesIn(locale: string): { value: string; label: string }[] {
  const names = new Intl.DisplayNames(locale, { type: 'region' });
  return COUNTRIES.split(' ')
    .map((value) => ({ value, label: names.of(value) ?? value }))
    .sort((a, b) => a.label.localeCompare(b.label, locale));
}

type Typed = Pick<FieldPlan, 'attributes' | 'list' | 'isBox'> & {
  readonly problem?: (value: string) => Problem | undefined;
};

/** The part of a plan that depends on the type. */
function typed({ type, options }: PageField, locale: string): Typed {
  switch (type) {
    case 'email':
      return {
        // Browsers rewrite the domain of an input of type email to ASCII.
        attributes: { autocomplete: 'email', inputmode: 'email' },
        problem: (value) => (value.length <= EMAIL_MAX && EMAIL.test(value) ? undefined : 'email_bad'),
      };
    case 'tel':
      return {
        attributes: { type: 'tel', autocomplete: 'tel', inputmode: 'tel' },
        problem: (value) => {
          const { length } = digitsOf(value);
          return length >= TEL_DIGITS.least && length <= TEL_DIGITS.most ? undefined : 'tel_bad';
        },
      };
    case 'postal-code':
      return { attributes: { autocomplete: 'postal-code', autocapitalize: 'characters' } };
    case 'country':
      return { attributes: { autocomplete: 'country' }, list: countriesIn(locale) };
    case 'select':
      return { list: options };
    case 'checkbox':
      return { isBox: true };
    default:
      return {};
  }
}

/** Creates the visible ones. */
export function createAdditional(context: FormPartContext): FormPart {
  const { config, texts } = context;
  const locale = document.documentElement.lang || 'en';
  const planOf = (field: PageField): FieldPlan => {
    const { name, label, required } = field;
    const { problem, ...kind } = typed(field, locale);
    const textOf = (value: string): string | undefined => {
      const found = problem?.(value);
      return found && texts[found];
    };
    return {
      ...{ name, label, required: texts[kind.isBox ? 'need_box' : kind.list ? 'need_list' : 'required'] },
      ...(required ? {} : { optional: texts.optional }),
      ...kind,
      problem: isChecked(context, name) ? textOf : undefined,
    };
  };
  const fields: readonly FormField[] = config.settings.additional_fields
    .filter(({ name }) => isVisible(context, name))
    .map((field) => createField(planOf(field), () => undefined, context.announce));
  return {
    fields,
    posted: () => Object.fromEntries(fields.map((field) => [field.plan.name, field.value()])),
  };
}
