/** The texts in English, and the list of texts that every language has. */
export const EN = {
  // Labels of fields.
  card_number: 'Card number',
  card_holder: 'Name on card',
  expiry: 'Expiry date',
  cvv: 'Security code',
  account_number: 'Account number',
  routing_number: 'Routing number',
  account_type: 'Account type',
  account_holder: 'Account holder',
  iban: 'IBAN',
  // Types of bank accounts.
  checking: 'Checking',
  savings: 'Savings',
  // Hints inside fields.
  date: 'MM/YY',
  optional: 'optional',
  name: 'Full name',
  // Headings, buttons and confirmations by type of form.
  head_pcd: 'Card details',
  head_ach: 'Bank account',
  head_custom: 'Your details',
  save_pcd: 'Save card',
  save_ach: 'Save account',
  save_custom: 'Save',
  done_pcd: 'Card saved',
  done_ach: 'Account saved',
  done_custom: 'Saved',
  done: 'Your details have arrived and are stored safely.',
  // States of the form.
  sending: 'Saving…',
  again: 'Try again',
  secure: 'Sent encrypted and stored in a vault',
  test: 'Test mode',
  // Errors of fields; their names are the results of `validate.ts`.
  required: 'Please fill in this field.',
  number_short: 'This card number is not complete.',
  number_bad: 'This card number is not valid.',
  expiry_bad: 'Enter the date as month and year, such as 08/29.',
  expiry_past: 'This card has expired.',
  cvv_bad: 'The security code has {n} digits.',
  name_bad: 'Enter a name, not a number.',
  routing_bad: 'This routing number is not valid.',
  account_bad: 'An account number has 4 to 17 digits.',
  iban_bad: 'This IBAN is not valid.',
  refused: 'Please check this field.',
  check: 'Please check: {list}.',
  // The keypad.
  keypad: 'Keypad for: {field}',
  shuffled: 'The digits are in random order.',
  delete: 'Delete last digit',
  close: 'Done',
  entered: 'Digits entered: {n}',
  // The view of a stored item.
  loading: 'Loading…',
  show: 'Show',
  hide: 'Hide',
  copy: 'Copy',
  copied: 'Copied',
  empty: 'There is nothing to show.',
  // Failures of requests; `failure-text.ts` chooses between them.
  e_network: 'No connection. Nothing is lost: please try again.',
  e_gone: 'This [link/form] has expired. Please [ask for a new one/reload the page].',
  e_refused: 'This [link/form] is not valid. Please [ask for a new one/reload the page].',
  e_invalid: 'Some of the details were not accepted. Please check them.',
  e_test: 'Test card numbers cannot be used here.',
  e_missing: 'We could not find these details.',
  e_limit: 'Too many attempts. Please wait a while, then try again.',
  e_busy: 'The service is busy. Please try again in a moment.',
  e_server: 'Something went wrong on our side. Please try again.',
  e_unconnected: 'This form is not connected yet, so nothing can be sent.',
  // Shown after the values were cleared.
  idle: 'Cleared after 10 minutes, for your safety.',
};

/** The texts of one language by name. */
export type Texts = Readonly<Record<keyof typeof EN, string>>;
