/** What the page around has put into the address of an element's frame. */
import { themeIn } from './theme.ts';

/** An element: which field of which group, and the endpoint that it sends to or reads from. */
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
  readonly theme: Readonly<Record<string, unknown>>;
}

/** Reads the fragment of an address. Whatever it says is checked where it is used. */
export function readElementVisit(hash: string): ElementVisit {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const text = (name: string): string | undefined => given.get(name) || undefined;
  return {
    ...{ field: text('field') ?? '', group: text('group') ?? '' },
    ...{ unique_id: text('unique_id') ?? '', secret: text('secret') ?? '' },
    ...{ reference: text('reference'), metadata: text('metadata'), locale: text('locale') },
    ...{ token: text('token'), shows: text('shows') ?? 'card_number' },
    theme: themeIn(text('theme')),
  };
}
