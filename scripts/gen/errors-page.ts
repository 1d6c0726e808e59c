/** Renders docs/errors.md from the tables of errors and routes: each code's meaning, what to do, and where it occurs. */

import { ROUTES } from '../../server/boot/routes.ts';
import { ERRORS } from '../../server/core/error-table.ts';
import type { ErrorCode } from '../../server/core/errors.ts';
import { type Noun, type RouteShape, routeErrors } from '../../server/http/route.ts';

const CODES = Object.keys(ERRORS) as ErrorCode[];
const STATUSES = [...new Set(CODES.map((code) => ERRORS[code].status))].toSorted((a, b) => a - b);

const PARTS: Readonly<Record<Noun, string>> = {
  utility: 'utilities',
  key: 'keys',
  vault: 'stored items',
  capture: 'capture endpoints',
  inbound: 'inbounds',
  retrieve: 'retrieval endpoints',
  form: 'forms',
  rule: 'rules',
  proxy: 'requests to third parties and certificates for them',
  connection: 'connections',
  job: 'jobs',
  event: 'event subscriptions',
  account: 'accounts of a platform',
  admin: 'the account',
  credential: 'credentials',
  person: 'people',
  audit: 'the security log',
};

/** Groups of routes that the page names instead of their members; the first match is used. */
const KINDS: readonly (readonly [name: string, isOne: (route: RouteShape) => boolean])[] = [
  ['every route', () => true],
  ['every route that needs an account', ({ auth }) => auth === 'basic'],
  ['every route that signs people in', ({ auth }) => auth === 'console'],
  ['every route with a body', ({ body }) => body.kind !== 'none'],
  ['every route that takes a passphrase', ({ passphrase }) => passphrase !== 'none'],
  ['every route that takes an Idempotency-Key', ({ idempotent }) => idempotent],
];
/** The largest number of routes that the page lists one by one. */
const NAMED_MAX = 10;

/** Where codes occur that no route declares. */
const OUTSIDE_ROUTES: Partial<Readonly<Record<ErrorCode, string>>> = {
  not_found: 'every other path',
  passkey_cloned: 'the security log: the reply is `unauthenticated`',
  method_not_allowed: 'every other method of a path',
  path_invalid: 'every path, before it is routed',
  connection_closed: 'the log of the server: nobody is left to read the reply',
};

function nameOf({ method, path }: RouteShape): string {
  return `\`${method} ${path}\``;
}

/** Where a code occurs: groups of routes that all have it, then the other routes, one by one if they are few. */
function placesOf(code: ErrorCode): string {
  let left = ROUTES.filter((route) => routeErrors(route).includes(code));
  const groups: string[] = [];
  for (const [kind, isOne] of KINDS) {
    const routes = ROUTES.filter(isOne);
    if (
      routes.length > 3 &&
      routes.every((route) => routeErrors(route).includes(code)) &&
      routes.some((route) => left.includes(route))
    ) {
      groups.push(kind);
      left = left.filter((route) => !isOne(route));
    }
  }
  const others =
    left.length > NAMED_MAX
      ? Object.entries(PARTS).flatMap(([noun, part]) =>
          left.some((route) => route.noun === noun) ? part : [],
        )
      : left.map(nameOf);
  const places =
    left.length > NAMED_MAX ? [...groups, `routes of ${others.join(', ')}`] : [...groups, ...others];
  const elsewhere = OUTSIDE_ROUTES[code];
  if (places.length === 0 && elsewhere === undefined) {
    throw new Error(`no route declares ${code}`);
  }
  return [...places, ...(elsewhere === undefined ? [] : [elsewhere])].join(', ');
}

function sectionOf(code: ErrorCode): string[] {
  const { status, text, advice, retryAfterSeconds } = ERRORS[code];
  const wait = retryAfterSeconds === undefined ? '' : ', with `Retry-After`';
  return [
    `### ${code}`,
    `HTTP ${status}${wait}: ${text}`,
    `**What to do:** ${advice}`,
    `**Where:** ${placesOf(code)}.`,
  ];
}

function codesOf(status: number): readonly ErrorCode[] {
  return CODES.filter((code) => ERRORS[code].status === status);
}

function indexRow(status: number): string {
  return `| [${status}](#${status}) | ${codesOf(status)
    .map((code) => `[\`${code}\`](#${code})`)
    .join(', ')} |`;
}

const INTRODUCTION = [
  'Every error reply has the body `{ error, code, request_id, field? }`. Programs use `code`, which is stable;',
  '`error` is a message for humans and may change. `field` names the part of the request at fault, such as',
  '`query.key` or `body.passphrase`, and never contains a value. `request_id` is the value of the `X-Request-Id`',
  'header; quote it in support requests. 429 and 503 have `Retry-After` in seconds, 405 has `Allow`.',
  'If a reply fails after it has started, the connection is aborted. The SDK throws a `VaultApiError` for each error, see',
  '[its reference](sdk.md#errors), and retries automatically after 429 and 503.',
].join('\n');

const WITHOUT_BODY = [
  '## Without a body',
  'The runtime refuses some requests before the server sees them. Such a reply has neither body nor request id, and its connection ends.',
  [
    '| Reply | Request |',
    '|---|---|',
    '| 400 | the head breaks the grammar of HTTP/1.1, as with a folded field or a length beside chunks; some of these get no reply |',
    '| 431 | request line and headers have over 64 KB together, or there are more than 200 fields |',
    '| none | a method that the runtime does not know, such as `FOO` or `get` |',
  ].join('\n'),
];

export function errorsPage(notice: string): string {
  return `${[
    '# Errors',
    INTRODUCTION,
    ['| Status | Codes |', '|---|---|', ...STATUSES.map(indexRow)].join('\n'),
    ...STATUSES.flatMap((status) => [`## ${status}`, ...codesOf(status).flatMap(sectionOf)]),
    ...WITHOUT_BODY,
    notice,
  ].join('\n\n')}\n`;
}
