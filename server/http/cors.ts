import type { HeaderList } from './reply.ts';
import { type RouteShape, secretHeaderOf } from './route.ts';

const EXPOSED = 'X-Vault-Next-Token, X-Request-Id, Idempotency-Replayed, Retry-After';
const REQUEST_HEADERS = ['Content-Type', 'Idempotency-Key', 'X-Request-Id'];
/** What routes with the secret of an endpoint take besides: the secret, and what tracing libraries of pages add. */
const OF_ENDPOINTS = [
  ...['Authorization', 'X-Vault-Seal-To'],
  ...['traceparent', 'tracestate', 'baggage', 'sentry-trace'],
];
// Browsers keep a preflight for two hours at most.
const MAX_AGE_SECONDS = 7200;

/**
 * True if pages of any origin may use a route: one without Basic Auth, whose credentials browsers remember, that signs nobody in.
 * Servers, not pages, send to inbounds.
 */
export function isOpen(route: RouteShape): boolean {
  return route.auth !== 'basic' && route.auth !== 'console' && route.auth !== 'inbound_secret';
}

/** Lets pages of any origin read a reply, without credentials. The headers do not depend on the origin: no `Vary`. */
export function allowAnyOrigin(headers: Headers): void {
  headers.set('Access-Control-Allow-Origin', '*');
  headers.set('Access-Control-Expose-Headers', EXPOSED);
}

/** The headers of a preflight's reply, for the open routes of a path; undefined if it has none. */
export function preflightOf(ofPath: readonly RouteShape[]): HeaderList | undefined {
  const open = ofPath.filter(isOpen);
  if (open.length === 0) {
    return undefined;
  }
  const secrets = open.map((route) => secretHeaderOf(route.auth)).filter((name) => name !== undefined);
  const more = secrets.length > 0 ? OF_ENDPOINTS : [];
  return [
    ['Access-Control-Allow-Origin', '*'],
    ['Access-Control-Allow-Methods', open.map((route) => route.method).join(', ')],
    ['Access-Control-Allow-Headers', [...new Set([...REQUEST_HEADERS, ...secrets, ...more])].join(', ')],
    ['Access-Control-Max-Age', String(MAX_AGE_SECONDS)],
  ];
}
