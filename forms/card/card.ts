import { h } from '../base/dom.ts';
import { brandOf, codeLengthsOf } from '../fields/brand.ts';
import { brandMark, codeMark } from '../fields/brand-mark.ts';
import { CARD_ATTRIBUTES } from '../fields/card-attributes.ts';
import { compact, digitsOf, plainDigits } from '../fields/digits.ts';
import { editExpiry, expiryParts, pickExpiry } from '../fields/expiry-input.ts';
import type { FormField } from '../fields/field.ts';
import { editNumber, pickNumber } from '../fields/number-input.ts';
import { checkCardNumber, checkCode, checkExpiry, checkName } from '../fields/validate.ts';
import { createCardArt } from './art.ts';
import { createNetworkField } from './network.ts';
import { createFields, type FieldSketch, type FormPart, type FormPartContext, isVisible } from './parts.ts';

/** The network with four digits on the front. */
const AMEX = 'american-express';

/** The elements inside the fields of number and verification code. */
interface Adornments {
  /** The mark of the network. */
  readonly brand: Element;
  /** The mark of the place of the verification code. */
  readonly code: Element;
}

/** The fields of the form; `number` returns the current value of the number field. */
function sketch(context: FormPartContext, number: () => string, adornments: Adornments): FieldSketch[] {
  const codeLengths = (): readonly number[] => codeLengthsOf(brandOf(digitsOf(number())));
  // A single one fills the row.
  const half = isVisible(context, 'expiry') && isVisible(context, 'cvv');
  return [
    {
      name: 'card_number',
      digits: true,
      attributes: CARD_ATTRIBUTES.card_number,
      adornment: adornments.brand,
      edit: editNumber,
      paste: pickNumber,
      problem: checkCardNumber,
    },
    {
      name: 'card_holder',
      attributes: CARD_ATTRIBUTES.card_holder,
      problem: checkName,
    },
    {
      name: 'expiry',
      digits: true,
      half,
      attributes: { ...CARD_ATTRIBUTES.expiry, placeholder: context.texts.date },
      edit: editExpiry,
      paste: pickExpiry,
      problem: (value) => checkExpiry(value, context.now()),
    },
    {
      name: 'cvv',
      digits: true,
      half,
      attributes: { ...CARD_ATTRIBUTES.cvv, placeholder: '123' },
      adornment: adornments.code,
      edit: plainDigits(() => Math.max(...codeLengths())),
      problem: (value) => checkCode(value, number()),
      values: () => ({ n: codeLengths().join('–') }),
    },
  ];
}

/**
 * Creates the fields of the form and its card. The number is posted in groups, or only as digits if the settings say
 * so.
 */
export function createCard(context: FormPartContext): FormPart {
  const { settings } = context.config;
  const brandBox = h('span', { class: 'vf-adornment' });
  const codeBox = h('span', { class: 'vf-adornment' });
  const art = settings.hide_card ? undefined : createCardArt(context.texts, settings.highlight_fields);
  const network = createNetworkField(context.texts, context.announce);
  const lookUp = context.lookUp(network.offer);
  let fields: readonly FormField[] = [];
  // The network whose marks are shown.
  let shown: string | undefined;
  const value = (name: string): string => fields.find(({ plan }) => plan.name === name)?.value() ?? '';
  // Called after every change of a field; the marks are only replaced when the network changes.
  const changed = (): void => {
    const number = value('card_number');
    const digits = digitsOf(number);
    const brand = brandOf(digits);
    lookUp(digits);
    if (brand !== shown) {
      shown = brand;
      brandBox.replaceChildren(brandMark(brand));
      codeBox.replaceChildren(codeMark(brand === AMEX));
      const code = fields.find(({ plan }) => plan.name === 'cvv');
      code?.inputs[0]?.setAttribute('placeholder', '1234'.slice(0, codeLengthsOf(brand)[0]));
    }
    art?.show({ number, name: value('card_holder'), expiry: value('expiry'), code: value('cvv'), brand });
  };
  const adornments = { brand: brandBox, code: codeBox };
  fields = createFields(
    context,
    sketch(context, () => value('card_number'), adornments),
    changed,
  );
  changed();
  return {
    // Beside the number, as the choice depends on it.
    fields: fields.flatMap((field) => (field.plan.name === 'card_number' ? [field, network] : [field])),
    ...(art === undefined ? {} : { art }),
    posted: () => {
      const number = value('card_number');
      const digits = digitsOf(number);
      return {
        card_number: settings.strip_spaces ? compact(number) : number,
        card_holder: value('card_holder'),
        cvv: value('cvv'),
        expiry: value('expiry'),
        ...expiryParts(value('expiry')),
        card_type: brandOf(digits),
        network: network.value(),
        last_four: digits.slice(-4),
      };
    },
  };
}
