import { secretHeaderOf } from './arrival.ts';
import type { HeaderList } from './reply.ts';
import type { RouteShape } from './route.ts';

const EXPOSED = 'X-Vault-Next-Token, X-Request-Id, Idempotency-Replayed, Retry-After';
const REQUEST_HEADERS = ['Content-Type', 'Idempotency-Key', 'X-Request-Id'];
// Browsers keep a preflight for two hours at most.
const MAX_AGE_SECONDS = 7200;

/**
 * True if pages of any origin may use a route: one that needs no account. Browsers remember Basic Auth credentials; the
 * secret of an open route is sent by the page itself.
 */
export function isOpen(route: RouteShape): boolean {
  return route.auth !== 'basic';
}

/** Lets pages of any origin read a reply, without credentials. The headers do not depend on the origin: no `Vary`. */
export function allowAnyOrigin(headers: Headers): void {
  headers.set('Access-Control-Allow-Origin', '*');
  headers.set('Access-Control-Expose-Headers', EXPOSED);
}

/**
 * The headers of the reply to a preflight: the methods and headers of the open routes of a path. Undefined for a path
 * without an open route.
 */
export function preflightOf(ofPath: readonly RouteShape[]): HeaderList | undefined {
  const open = ofPath.filter(isOpen);
  if (open.length === 0) {
    return undefined;
  }
  const secrets = open.map((route) => secretHeaderOf(route.auth)).filter((name) => name !== undefined);
  return [
    ['Access-Control-Allow-Origin', '*'],
    ['Access-Control-Allow-Methods', open.map((route) => route.method).join(', ')],
    ['Access-Control-Allow-Headers', [...new Set([...REQUEST_HEADERS, ...secrets])].join(', ')],
    ['Access-Control-Max-Age', String(MAX_AGE_SECONDS)],
  ];
}
