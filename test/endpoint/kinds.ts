/** Endpoints of both kinds, for tests of what they have in common. */
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import {
  capture,
  createCapture,
  createRetrieve,
  type MadeEndpoint,
  type Reached,
  retrieve,
  type Use,
} from '../helpers/endpoints.ts';

export const KINDS = ['capture', 'retrieve'] as const;
export type Kind = (typeof KINDS)[number];
export const OTHER_KIND = { capture: 'retrieve', retrieve: 'capture' } as const;
export const SECRET_PREFIX = { capture: 'vcs1_', retrieve: 'vrs1_' } as const;
export const CARD = { card_number: '4111111111111111' };
export const REFUSED = '403 endpoint_refused';
export const GONE = '410 endpoint_gone';

/** What a request to an endpoint must know. */
export type Address = Pick<MadeEndpoint, 'url' | 'secret'>;
/** How a request ended, a reply that broke off included. */
export type Ended = Pick<Answer, 'outcome' | 'text'>;

/** Makes an endpoint; throws unless the answer is 200. */
export function make(
  kind: Kind,
  account: AccountClient,
  user = 'u',
  query: Query = {},
  passphrase = PASSPHRASE,
): Promise<MadeEndpoint> {
  return (kind === 'capture' ? createCapture : createRetrieve)(account, user, query, passphrase);
}

export function kindOf({ url }: Pick<MadeEndpoint, 'url'>): Kind {
  return url.startsWith('/v1/capture') ? 'capture' : 'retrieve';
}

/** Captures a card, or reads the tree, unless `sending` says otherwise. */
export function use(reached: Reached, endpoint: Address, sending: Use = {}): Promise<Answer> {
  return kindOf(endpoint) === 'capture'
    ? capture(reached, endpoint, { body: CARD, ...sending })
    : retrieve(reached, endpoint, sending);
}

export function ended(reply: Promise<Answer>): Promise<Ended> {
  return reply.catch(() => ({ outcome: 'broke off', text: '' }));
}

/** Changes the passphrase of a key, to another one unless told otherwise. */
export function changePassphrase(
  client: AccountClient,
  user: string,
  new_passphrase = `${PASSPHRASE} 2`,
  passphrase = PASSPHRASE,
): Promise<Answer> {
  return client.send('PUT', '/key', { body: { user, passphrase, new_passphrase } });
}
