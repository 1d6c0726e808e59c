/** The names of the fields, as a page gives them. */
export const ELEMENT_FIELDS = ['card-number', 'card-expiry', 'card-cvc', 'card-holder', 'iban'] as const;
export type ElementField = (typeof ELEMENT_FIELDS)[number];
