/** Requests through connections, as callers make them. */
import { type AccountClient, type Answer, PASSPHRASE } from './clients.ts';
import type { ThirdParty } from './third-party.ts';

/** Changes to the default relayed request, a POST of JSON. */
export interface RelayChanges {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly user?: string;
  readonly passphrase?: string;
}

let connections = 0;

/** Makes a connection to a third party; gives its id. */
export async function connect(
  account: AccountClient,
  party: ThirdParty,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  connections += 1;
  const body = { id: `psp-${connections}`, base_url: party.url(''), ...settings };
  const answer = await account.send('POST', '/connection', { body });
  if (answer.status !== 200) {
    throw new Error(answer.text);
  }
  return body.id;
}

/** Sends a request through a connection; `rest` is what follows its id. */
export function relay(
  account: AccountClient,
  connection: string,
  rest: string,
  { method = 'POST', headers = {}, body, user = 'u', passphrase = PASSPHRASE }: RelayChanges = {},
): Promise<Answer> {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  return account.send(method, `/relay/${connection}${rest}`, {
    passphrase,
    headers: { 'x-vault-user': user, ...type, ...headers },
    ...(body === undefined ? {} : { body }),
  });
}

/** A placeholder as it is written. */
export function placeholder(token: string, field: string, ...reference: string[]): string {
  return `{{vault:${[token, field, ...reference].map(encodeURIComponent).join(':')}}}`;
}
