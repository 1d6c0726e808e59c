/**
 * What browsers and password managers know the fields of a card by. The code is a text with a name of its own, not a
 * password: they fill it with the card, and offer no sign-in for it.
 */
export const CARD_ATTRIBUTES = {
  card_number: { autocomplete: 'cc-number', inputmode: 'numeric', placeholder: '1234 1234 1234 1234' },
  card_holder: { autocomplete: 'cc-name', autocapitalize: 'words', maxlength: 255 },
  expiry: { autocomplete: 'cc-exp', inputmode: 'numeric' },
  cvv: { autocomplete: 'cc-csc', inputmode: 'numeric' },
} as const;
