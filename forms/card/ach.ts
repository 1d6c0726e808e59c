/** The form for a bank account in the United States. */
import { createEdit, digitsOf } from '../fields/digits.ts';
import { checkAccount, checkName, checkRouting } from '../fields/validate.ts';
import { createFields, type FormPart, type FormPartContext } from './parts.ts';

/** Only separators are removed: a wrong character, or one too many, is for the check to reject. */
const edit = createEdit({});

/** Creates the fields of the form. */
export function createAch(context: FormPartContext): FormPart {
  const { texts } = context;
  const fields = createFields(
    context,
    [
      {
        name: 'account_number',
        digits: true,
        attributes: { inputmode: 'numeric' },
        edit,
        problem: checkAccount,
      },
      {
        name: 'routing_number',
        digits: true,
        attributes: { inputmode: 'numeric', placeholder: '123456789' },
        edit,
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
        attributes: { autocomplete: 'name', autocapitalize: 'words' },
        problem: checkName,
      },
    ],
    () => undefined,
  );
  return {
    fields,
    posted: () => {
      const values = Object.fromEntries(fields.map((field) => [field.plan.name, field.value()]));
      return { ...values, last_four: digitsOf(values['account_number'] ?? '').slice(-4) };
    },
  };
}
