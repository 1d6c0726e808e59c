/**
 * Attributes by which browsers and password managers recognise the fields of a card. The verification code is a text
 * input with its own autocomplete name, not a password: it is filled with the card, and no sign-in is offered for it.
 */
export const CARD_ATTRIBUTES = {
  card_number: { autocomplete: 'cc-number', inputmode: 'numeric', placeholder: '1234 1234 1234 1234' },
  card_holder: { autocomplete: 'cc-name', autocapitalize: 'words' },
  expiry: { autocomplete: 'cc-exp', inputmode: 'numeric' },
  cvv: { autocomplete: 'cc-csc', inputmode: 'numeric' },
} as const;
