import { members, parse } from '../base/config.ts';

/** Names of the fields, as a page gives them. */
export const ELEMENT_FIELDS = ['card-number', 'card-expiry', 'card-cvc', 'card-holder', 'iban'] as const;
export type ElementField = (typeof ELEMENT_FIELDS)[number];

/** The address of an element's frame: the field, its group, and the endpoint to send to or read from. */
export interface ElementVisit {
  readonly field: string;
  readonly group: string;
  readonly unique_id: string;
  readonly secret: string;
  readonly reference: string | undefined;
  readonly metadata: string | undefined;
  readonly locale: string | undefined;
  readonly token: string | undefined;
  /** The member of the item that a reveal shows. */
  readonly shows: string;
  /** Of a reveal: only a sealed reply is taken. */
  readonly isSealed: boolean;
  /** Of a card number: the networks of a card are asked for, and offered where there are several. */
  readonly hasNetworks: boolean;
  readonly theme: Readonly<Record<string, unknown>>;
}

/** Reads the fragment of an address. Values are checked where they are used. */
export function readElementVisit(hash: string): ElementVisit {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const text = (name: string): string | undefined => given.get(name) || undefined;
  return {
    ...{ field: text('field') ?? '', group: text('group') ?? '' },
    ...{ unique_id: text('unique_id') ?? '', secret: text('secret') ?? '' },
    ...{ reference: text('reference'), metadata: text('metadata'), locale: text('locale') },
    ...{ token: text('token'), shows: text('shows') ?? 'card_number' },
    ...{ isSealed: text('seal') !== undefined, hasNetworks: text('networks') !== undefined },
    theme: members(parse(text('theme') ?? '')),
  };
}
