/** Inbounds as owners make them, and requests as senders make them. */
import { type AccountClient, type Answer, answerOf, type Handle, PASSPHRASE } from './clients.ts';
import { connect } from './relay.ts';
import type { ThirdParty } from './third-party.ts';

/** An inbound as its creation shows it. */
export interface MadeInbound {
  readonly id: string;
  readonly url: string;
  readonly secret: string;
  readonly expires_at: string | null;
}

export interface InboundSettings {
  readonly [name: string]: unknown;
}

/** A request to an inbound; a POST of JSON. */
export interface InboundSending {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** The secret of the inbound, in its header; null for none there. */
  readonly secret?: string | null;
}

/** Sends `POST /inbound`, for the key `u`. */
export function createInbound(
  account: AccountClient,
  settings: InboundSettings,
  passphrase = PASSPHRASE,
): Promise<Answer> {
  const body = { user: 'u', extract: [{ number: 'card.number', code: 'card.cvc' }], ...settings };
  return account.send('POST', '/inbound', { body, passphrase });
}

/** Makes an inbound; throws unless the answer is 200. */
export async function newInbound(account: AccountClient, settings: InboundSettings): Promise<MadeInbound> {
  const answer = await createInbound(account, settings);
  if (answer.status !== 200) {
    throw new Error(answer.text);
  }
  return answer.as<MadeInbound>();
}

/** Makes a connection that takes requests of inbounds. */
export function connectInbound(
  account: AccountClient,
  party: ThirdParty,
  settings: InboundSettings = {},
): Promise<string> {
  return connect(account, party, { inbound: true, ...settings });
}

/** Sends a request through an inbound; `rest` is what follows its id. */
export async function sendThrough(
  handle: Handle,
  { url, secret: own }: MadeInbound,
  rest: string,
  { method = 'POST', headers = {}, body, secret = own }: InboundSending = {},
): Promise<Answer> {
  const all = {
    ...(secret === null ? {} : { 'x-vault-capture-secret': secret }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  };
  const init = { method, headers: all, ...(body === undefined ? {} : { body: body as string }) };
  return answerOf(await handle(new Request(`http://localhost${url}${rest}`, init)));
}
