/** What differs from visit to visit: it comes with the address, never with the page, and leaves the address at once. */
import type { PageConfig } from '../base/config.ts';

/** Where the form sends to or reads from, and what goes along. `extra` is stored beside the fields. */
export interface Visit {
  readonly unique_id?: string;
  readonly secret?: string;
  readonly token?: string;
  readonly reference?: string;
  readonly title?: string;
  readonly locale?: string;
  readonly extra: Readonly<Record<string, string>>;
}

const OWN = ['unique_id', 'secret', 'token', 'reference', 'title', 'locale'] as const;
/** What the server reads, and names that no object should be given. */
const IGNORED = ['testing', '__proto__', 'constructor', 'prototype'];
const RETRIEVE_SECRET = /^vrs1_/;

/**
 * Reads the address: members of the fragment win over those of the query, and both over what the service put into
 * the page. Empty members count as left out.
 */
export function readVisit(search: string, hash: string, config: PageConfig): Visit {
  const given = new Map<string, string>(Object.entries(config.visit ?? {}));
  for (const part of [search, hash]) {
    for (const [name, value] of new URLSearchParams(part.replace(/^[?#]/, ''))) {
      if (value !== '') {
        given.set(name, value);
      }
    }
  }
  const own = OWN.flatMap((name) => {
    const value = given.get(name);
    given.delete(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  for (const name of IGNORED) {
    given.delete(name);
  }
  return { ...Object.fromEntries(own), extra: Object.fromEntries(given) };
}

/** Whether the page shows a stored item rather than a form. */
export function isRetrieval({ secret }: Visit): boolean {
  return RETRIEVE_SECRET.test(secret ?? '');
}
