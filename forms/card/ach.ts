/** The form for a bank account in the United States. */
import { plainDigits } from '../fields/digits.ts';
import { checkAccount, checkName, checkRouting } from '../fields/validate.ts';
import { createFields, type FormPart, type FormPartContext } from './parts.ts';

/** The length of ABA routing numbers. */
const ROUTING_DIGITS = 9;
const ACCOUNT_DIGITS_MAX = 17;

/** Creates the fields of the form, which are posted unchanged. */
export function createAch(context: FormPartContext): FormPart {
  const { texts } = context;
  const fields = createFields(
    context,
    [
      {
        name: 'account_number',
        digits: true,
        attributes: { inputmode: 'numeric' },
        edit: plainDigits(() => ACCOUNT_DIGITS_MAX),
        problem: checkAccount,
      },
      {
        name: 'routing_number',
        digits: true,
        attributes: { inputmode: 'numeric', placeholder: '123456789' },
        edit: plainDigits(() => ROUTING_DIGITS),
        problem: checkRouting,
      },
      {
        name: 'account_type',
        choices: [
          { value: 'checking', label: texts.checking },
          { value: 'savings', label: texts.savings },
        ],
      },
      {
        name: 'account_holder',
        attributes: { autocomplete: 'name', autocapitalize: 'words', maxlength: 255 },
        problem: checkName,
      },
    ],
    () => undefined,
  );
  return {
    fields,
    posted: () => Object.fromEntries(fields.map((field) => [field.plan.name, field.value()])),
  };
}
