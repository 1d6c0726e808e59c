import { secretHeaderOf } from './arrival.ts';
import type { HeaderList } from './reply.ts';
import type { RouteShape } from './route.ts';

const EXPOSED = 'X-Vault-Next-Token, X-Request-Id, Idempotency-Replayed, Retry-After';
const REQUEST_HEADERS = ['Content-Type', 'Idempotency-Key', 'X-Request-Id'];
// Browsers keep a preflight for two hours at most.
const MAX_AGE_SECONDS = 7200;

/**
 * Whether pages of any origin may use a route: those that need no account. A route with Basic Auth stays closed,
 * since browsers remember such credentials; what an open one needs, the page itself must hold.
 */
export function isOpen(route: RouteShape): boolean {
  return route.auth !== 'basic';
}

/** Lets a page of any origin read a reply, without credentials. The headers are the same for every origin, so no `Vary` is needed. */
export function allowAnyOrigin(headers: Headers): void {
  headers.set('Access-Control-Allow-Origin', '*');
  headers.set('Access-Control-Expose-Headers', EXPOSED);
}

/**
 * What a preflight of a path is answered with: its open routes' methods and headers, whatever was asked for.
 * Undefined for a path without an open route.
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
