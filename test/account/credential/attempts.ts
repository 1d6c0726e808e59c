/** What a credential that may use a card tries in order to see it, and what becomes of each attempt. */
import { isDeepStrictEqual } from 'node:util';
import { ROUTES } from '../../../server/boot/routes.ts';
import { PROXY_METHODS } from '../../../server/core/third-party.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../../helpers/clients.ts';
import { jobsDone, type OrderChanges, proxyPost, requestTo } from '../../helpers/proxy.ts';
import { ECHOES, SPLIT } from './echoes.ts';
import { CARD, type Stage, seenOf, shownOf } from './stage.ts';

/** One attempt: what became of it, and what could be seen of the card. */
export interface Attempted {
  readonly attempt: string;
  readonly outcome: string;
  readonly shown: readonly string[];
}

/** How a request sends the card. */
interface Shape extends OrderChanges {
  readonly path?: string;
  readonly extra_data?: unknown;
  readonly query?: Query;
}

const FORM = { headers: [{ 'Content-Type': 'application/x-www-form-urlencoded' }] };
const XML = { headers: [{ 'Content-Type': 'application/xml' }] };
const TEXT = { headers: [{ 'Content-Type': 'text/plain' }] };

/** How the card is put into a request. */
const SHAPES: Readonly<Record<string, Shape>> = {
  'usual names': { body: '{"number":"{{card_number}}","cvc":"{{cvv}}"}' },
  'other names': { body: '{"order":"{{card_number}}","amount":{{cvv}},"b": "{{cvv}}"}' },
  'a form with brackets': { ...FORM, body: 'card[number]={{card_number}}&card[cvc]={{cvv}}' },
  'a form, percent-encoded': { ...FORM, body: 'c%5Ba%5D={{card_number}}&c%5Bamount%5D={{cvv}}' },
  XML: { ...XML, body: '<c><n>{{card_number}}</n><amount>{{cvv}}</amount></c>' },
  'the path': { path: '/{{card_number}}', body: '{}' },
  'the query': { path: '?a={{card_number}}&b={{{cvv}}}', body: '{}' },
  headers: { headers: [{ 'X-A': '{{card_number}}' }, { 'X-B': '{{cvv}}' }, { Cookie: 'x={{cvv}}' }] },
  'the whole item': { body: '{"a":{{{.}}}}' },
  'a section': { body: '{{#card_number}}{"a":"{{.}}"}{{/card_number}}' },
  'an iterator over the item': { body: '{{#.}}{"a":"{{card_number}}","cvv":"{{cvv}}"}{{/.}}' },
  'a raw value': { ...TEXT, body: '{{{card_number}}} {{&note}}' },
  'digits around it': { ...TEXT, body: '9{{card_number}}9 77{{card_number}}' },
  'twice in a row': { ...TEXT, body: '{{card_number}}{{card_number}}' },
  'data of the same name': {
    body: '{"a":"{{card_number}}","cvc":"{{cvv}}","x":"{{x}}"}',
    extra_data: { card_number: 'mine', cvv: '000', x: 'y' },
  },
  'a name that is missing': { body: '{"a":"{{gone}}{{card_number}}"}', query: { allow_missing: true } },
  'a coding that the vault does not know': {
    headers: [{ 'Accept-Encoding': 'zstd' }],
    body: '{"a":"{{card_number}}"}',
  },
  'a code without a name': { ...TEXT, body: '{{cvv}}' },
  'a code in a list': { body: '[{{card_number}},{{cvv}}]' },
  'a code in the path': { path: '/{{cvv}}', body: '{}' },
  'a code behind a code': { ...TEXT, body: 'cvv={{cvv}} {{cvv}}' },
  'a code behind a digit': { ...TEXT, body: 'cvv=1{{cvv}}' },
};

function orderOf({ party }: Stage, { path = '', extra_data, query: _, ...changes }: Shape) {
  const request = requestTo(party.url(`/echo${path}`), changes);
  return extra_data === undefined ? request : { ...request, extra_data };
}

function scriptEcho({ party }: Stage, name: string): void {
  const echo = ECHOES[name];
  if (echo !== undefined) {
    for (const path of ['/echo', `/echo/${CARD.card_number}`, `/echo/${CARD.cvv}`]) {
      party.script(path, echo);
    }
  }
}

function itemOf({ user, token }: Stage) {
  return { account: user, user: 'u', token };
}

function told(attempt: string, answer: Answer): Attempted {
  return { attempt, outcome: answer.outcome, shown: shownOf(seenOf(answer)) };
}

/** A reply of which nothing is shown, as its caller gets it. */
export const WITHHELD = { headers: [], body: '', withheld: true } as const;

/** Every shape of a request with every echo: what is seen, and the replies that are not withheld. */
async function* tryEchoes(stage: Stage): AsyncGenerator<Attempted> {
  for (const [shape, wanted] of Object.entries(SHAPES)) {
    const request = orderOf(stage, wanted);
    const outcomes = new Set<string>();
    const shown: string[] = [];
    for (const echo of Object.keys(ECHOES)) {
      scriptEcho(stage, echo);
      const answer = await proxyPost(itemOf(stage), { request, synchronous: true }, wanted.query);
      const { status_code: _, ...rest } = answer.as<Record<string, unknown>>();
      outcomes.add(isDeepStrictEqual(rest, WITHHELD) ? answer.outcome : answer.text);
      shown.push(...shownOf(seenOf(answer)).map((what) => `${what} (${echo})`));
    }
    yield {
      attempt: `${shape}, repeated in ${Object.keys(ECHOES).length} notations`,
      outcome: [...outcomes].join(),
      shown,
    };
  }
}

/** Rules of the account and `debug`, which could write the card in a way that no mask finds. */
async function* tryRules(stage: Stage): AsyncGenerator<Attempted> {
  const request = orderOf(stage, { body: '{"a":"{{made}}","n":"{{card_number}}"}' });
  scriptEcho(stage, 'plain text');
  for (const query of [...stage.rules.map((rules) => ({ rules })), { debug: true }]) {
    const answer = await proxyPost(itemOf(stage), { request, synchronous: true }, query);
    const { field } = answer.as<{ field?: string }>();
    yield {
      attempt: JSON.stringify(query),
      outcome: `${answer.outcome} ${field}`,
      shown: shownOf(seenOf(answer)),
    };
  }
}

/** Every shape with every echo that keeps digits together, by a credential that sees data masked. */
export async function attemptMasked(stage: Stage, reader: AccountClient): Promise<readonly Attempted[]> {
  const { token } = stage;
  const attempts: Attempted[] = [];
  for (const [shape, wanted] of Object.entries(SHAPES)) {
    for (const echo of Object.keys(ECHOES).filter((name) => !SPLIT.includes(name))) {
      scriptEcho(stage, echo);
      const order = { request: orderOf(stage, wanted), synchronous: true };
      const answer = await proxyPost({ account: reader, user: 'u', token }, order, wanted.query);
      // A code may come back under a name that is none of codes.
      const shown = shownOf(seenOf(answer)).filter((what) => what !== CARD.cvv || shape === 'usual names');
      attempts.push({ attempt: `${shape}, ${echo}`, outcome: answer.outcome, shown });
    }
  }
  return attempts;
}

/** The same with a webhook of the credential's own. */
async function* tryWebhooks(stage: Stage): AsyncGenerator<Attempted> {
  const { receiver, vault, account } = stage;
  scriptEcho(stage, 'plain text');
  for (const [shape, wanted] of Object.entries(SHAPES)) {
    const body = { request: orderOf(stage, wanted), webhook: { ...receiver.webhook, metadata: { a: 'b' } } };
    const answer = await proxyPost(itemOf(stage), body, wanted.query);
    const { received } = await receiver.next();
    const seen = `${seenOf(answer)}\n${received.head}\n${received.text}`;
    yield { attempt: `${shape}, told to a webhook`, outcome: answer.outcome, shown: shownOf(seen) };
  }
  await jobsDone(vault, account);
}

/** Every route of the table, with every method. */
async function* tryRoutes({ user, token }: Stage): AsyncGenerator<Attempted> {
  const sending = { query: { user: 'u', token }, passphrase: PASSPHRASE };
  for (const { method, path, operationId } of ROUTES) {
    const at = path.slice('/v1'.length).replaceAll(/\{\w+\}/g, 'some');
    const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
    yield told(`${operationId}`, await user.send(method, at, { ...sending, ...body }));
  }
  for (const path of new Set(
    ROUTES.map((route) => route.path.slice('/v1'.length).replaceAll(/\{\w+\}/g, 'some')),
  )) {
    for (const method of ['HEAD', 'OPTIONS', 'PATCH']) {
      yield told(`${method} ${path}`, await user.send(method, path, sending));
    }
  }
  for (const query of [
    { user: 'u', decrypt_all: true },
    { user: 'u', token, decrypt_all: false },
    { decrypt_all: true },
  ]) {
    yield told(
      `GET /vault ${JSON.stringify(Object.keys(query))}`,
      await user.send('GET', '/vault', { ...sending, query }),
    );
  }
}

/** Errors that the item has a part in, methods, network tokens, replies of others. */
async function* tryMore(stage: Stage): AsyncGenerator<Attempted> {
  const { account, party, user, receiver, token } = stage;
  const item = itemOf(stage);
  scriptEcho(stage, 'plain text');
  const post = (request: object, query: Query = {}): Promise<Answer> =>
    proxyPost(item, { request, synchronous: true }, query);
  const url = party.url('/echo');
  const bad = {
    'a number in the host': { method: 'POST', url: 'https://{{card_number}}.example/', body: '' },
    'a number in the port': { method: 'POST', url: 'https://127.0.0.1:{{cvv}}/', body: '' },
    'a header that cannot be sent': requestTo(url, { headers: [{ 'X-A': '{{card_number}}\u{1f600}' }] }),
    'a name that is missing': requestTo(url, { body: '{{card_number.gone}}' }),
    'a number as the name': requestTo(url, { headers: [{ '{{card_number}}': 'x' }] }),
  };
  for (const [attempt, request] of Object.entries(bad)) {
    yield told(attempt, await post(request));
  }
  for (const method of PROXY_METHODS) {
    const body = method === 'GET' || method === 'HEAD' ? {} : { body: '{"a":"{{card_number}}"}' };
    const request = { method, url: `${url}?a={{card_number}}`, headers: [], ...body };
    yield told(`the method ${method}`, await post(request));
  }
  const synchronous = { request: requestTo(url), synchronous: true };
  const sending = { idempotencyKey: 'shared', body: synchronous, passphrase: PASSPHRASE };
  const query = { user: 'u', token };
  await account.send('POST', '/proxy/post', { ...sending, query });
  for (const time of ['first', 'second']) {
    const answer = await user.send('POST', '/proxy/post', { ...sending, query });
    yield told(`the account's Idempotency-Key, the ${time} time`, answer);
  }
  for (const reference of ['', 'x', CARD.card_number.slice(0, 6)]) {
    yield told(`a guess at the reference`, await proxyPost({ ...item, reference }, synchronous));
  }
  yield* tryNetworkToken(stage, receiver);
}

const GRANTED = {
  ...{ token: CARD.card_number, expiry_month: '12', expiry_year: '2031', status: 'active' },
  ...{ cryptogram: 'AAAA', eci: '05' },
};

async function* tryNetworkToken({ user, party, token }: Stage, receiver: Stage['receiver']) {
  party.script('/tokens', {
    headers: [['Content-Type', 'application/json']],
    body: JSON.stringify(GRANTED),
  });
  const answer = await user.send('POST', '/proxy/network_token', {
    ...{ query: { user: 'u', token, requester_id: 'psp' }, passphrase: PASSPHRASE },
    body: { webhook: receiver.webhook },
  });
  const { received } = await receiver.next();
  const seen = `${seenOf(answer)}\n${received.text}`;
  yield { attempt: 'a network token that is the number', outcome: answer.outcome, shown: shownOf(seen) };
}

/** Makes every attempt on a stage. */
export async function attemptAll(stage: Stage): Promise<{ readonly [group: string]: readonly Attempted[] }> {
  return {
    routes: await Array.fromAsync(tryRoutes(stage)),
    echoes: await Array.fromAsync(tryEchoes(stage)),
    rules: await Array.fromAsync(tryRules(stage)),
    webhooks: await Array.fromAsync(tryWebhooks(stage)),
    more: await Array.fromAsync(tryMore(stage)),
  };
}
