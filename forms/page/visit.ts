/** The parameters of one visit. They are in the address, never in the page, and are removed from the address immediately. */
import type { PageConfig } from '../../server/form/schema.ts';

/** The endpoint, and what is sent with the request. `extra` is stored in addition to the fields. */
export interface Visit {
  readonly unique_id?: string;
  readonly secret?: string;
  readonly token?: string;
  readonly reference?: string;
  readonly title?: string;
  readonly locale?: string;
  /** `true`: the networks of a card are asked for, and offered where there are several. */
  readonly networks?: string;
  /** Present where a builder shows the form, which has no endpoint then. */
  readonly preview?: string;
  readonly extra: Readonly<Record<string, string>>;
}

const OWN = ['unique_id', 'secret', 'token', 'reference', 'title', 'locale', 'networks', 'preview'] as const;
/** Parameters of the server, and names that are dangerous as members. */
const IGNORED = ['testing', '__proto__', 'constructor', 'prototype'];
const RETRIEVE_SECRET = /^vrs1_/;

/**
 * Reads the address. Parameters of the fragment have precedence over those of the query, and both over those of the
 * page. Empty parameters count as absent.
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

/** True if the page shows a stored item instead of a form. */
export function isRetrieval({ secret }: Visit): boolean {
  return RETRIEVE_SECRET.test(secret ?? '');
}
