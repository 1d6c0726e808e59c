/** Proxied requests as callers make them, and vaults that may reach the third parties of the tests. */

import { Secret } from '../../server/core/secret.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query, type Sending } from './clients.ts';
import { thirdPartyTrust } from './third-party.ts';
import { openTestVault, type TestVault, type VaultSettings } from './vault.ts';
import type { WebhookEvent } from './webhook.ts';

const POLL_MS = 5;
/** The first pause before a call is repeated. */
export const RETRY_MS = 10;

/** A card whose values stand nowhere else in a message. */
export const CARD = {
  card_number: '4111111111111111',
  card_holder: 'Ada Lovelace',
  expiry_month: '12',
  expiry_year: '2031',
  cvv: '7391',
} as const;

/** The body of a request that sends number and code, and what it becomes for {@link CARD}. */
export const CHARGE = '{"pan":"{{card_number}}","cvc":"{{cvv}}","amount":1000}';
export const CHARGED = `{"pan":"${CARD.card_number}","cvc":"${CARD.cvv}","amount":1000}`;

/**
 * A proxy that reaches this machine, trusts the authority of the tests' third parties, and repeats failed calls after
 * milliseconds instead of half a second.
 */
export async function localProxy(): Promise<NonNullable<VaultSettings['proxy']>> {
  return {
    allow: ['127.0.0.0/8'],
    caPem: (await thirdPartyTrust()).authority.pem,
    retryMs: RETRY_MS,
  };
}

/** A vault whose proxy reaches the third parties of the tests. */
export async function openProxyVault(settings: VaultSettings = {}): Promise<TestVault> {
  return openTestVault({ ...settings, proxy: { ...(await localProxy()), ...settings.proxy } });
}

type Requester = NonNullable<NonNullable<VaultSettings['proxy']>['requesters']>[number];

/** A requester of network tokens as the operator's file describes one. */
export function requester(
  id: string,
  url: string,
  { headers = {}, client_cert_id }: { headers?: Record<string, string>; client_cert_id?: string } = {},
): Requester {
  return { id, url, headers: new Secret(headers), client_cert_id };
}

/** An item of an account, as requests name it. */
export interface Item {
  readonly account: AccountClient;
  readonly user: string;
  readonly token: string;
  readonly reference?: string;
}

/** Makes an account with a key `u` and {@link CARD}, or something else, in it. */
export async function newItem(
  vault: TestVault,
  body: unknown = CARD,
  settings: Parameters<TestVault['account']>[0] = {},
): Promise<Item> {
  const account = await vault.account(settings);
  await account.key('u');
  return { account, user: 'u', token: await account.store('u', body) };
}

/** Stores another object under the key of an item. */
export async function anotherItem(item: Item, body: unknown, query: Query = {}): Promise<Item> {
  return {
    ...item,
    token: await item.account.store(item.user, body, query),
  };
}

/** Changes to the default request, which is a POST. */
export interface OrderChanges {
  readonly method?: string;
  readonly headers?: readonly Readonly<Record<string, unknown>>[];
  readonly body?: unknown;
  readonly client_cert_id?: string;
}

/** The `request` of a proxy order: a POST of {@link CHARGE} unless told otherwise. */
export function requestTo(url: string, changes: OrderChanges = {}): Readonly<Record<string, unknown>> {
  return {
    method: 'POST',
    url,
    body: CHARGE,
    ...changes,
  };
}

/** Calls POST /proxy/post for an item. */
export function proxyPost(
  item: Item,
  body: unknown,
  query: Query = {},
  sending: Sending = {},
): Promise<Answer> {
  return item.account.send('POST', '/proxy/post', {
    passphrase: PASSPHRASE,
    body,
    ...sending,
    query: { user: item.user, token: item.token, reference: item.reference, ...query },
  });
}

/** Calls POST /proxy/get for the key `u` of an account. */
export function proxyGet(
  account: AccountClient,
  body: unknown,
  query: Query = {},
  sending: Sending = {},
): Promise<Answer> {
  return account.send('POST', '/proxy/get', {
    passphrase: PASSPHRASE,
    body,
    ...sending,
    query: { user: 'u', ...query },
  });
}

/** Calls POST /proxy/network_token for an item. */
export function networkToken(
  item: Item,
  body: unknown,
  query: Query = {},
  sending: Sending = {},
): Promise<Answer> {
  return item.account.send('POST', '/proxy/network_token', {
    passphrase: PASSPHRASE,
    body,
    ...sending,
    query: { user: item.user, token: item.token, reference: item.reference, ...query },
  });
}

/** The id of a request that was accepted; throws unless it was. */
export function acceptedId(answer: Answer): string {
  const id = answer.status === 200 ? Object(answer.json).id : undefined;
  if (typeof id !== 'string') {
    throw new Error(`The vault answered ${answer.status} ${answer.text}`);
  }
  return id;
}

/** The id of a request that was accepted, and what its webhook is told first. */
export async function settled(
  answer: Answer | Promise<Answer>,
  receiver: { readonly next: () => Promise<WebhookEvent> },
): Promise<WebhookEvent> {
  const id = acceptedId(await answer);
  const event = await receiver.next();
  if (event.id !== id) {
    throw new Error('the webhook was told of another request');
  }
  return event;
}

/** How many accepted requests of an account are not done yet. */
export function jobsOf(vault: TestVault, { aid }: Pick<AccountClient, 'aid'>): Promise<number> {
  return vault.raw.zcard(`{a:${aid}}j`);
}

/** Resolves when nothing that an account had accepted is left to be sent or told. */
export async function jobsDone(vault: TestVault, account: Pick<AccountClient, 'aid'>): Promise<void> {
  while ((await jobsOf(vault, account)) > 0) {
    await Bun.sleep(POLL_MS);
  }
}

/** Billed attempts of an account, of both kinds. */
export async function attemptsBilled(vault: TestVault, account: AccountClient): Promise<number> {
  const usage = await vault.usage(account);
  return (usage['proxy_attempt'] ?? 0) + (usage['network_token'] ?? 0);
}

/** The action log of an item by source, newest first; refused attempts with their code. */
export async function sourcesOf({ account, user, token, reference }: Item): Promise<string[]> {
  const query = { user, token, reference };
  const entries = (await account.send('GET', '/vault/metadata', { query })).as<
    { readonly action: string; readonly source: string; readonly outcome: string }[]
  >();
  return entries.map(({ action, source, outcome }) =>
    [action, source, ...(outcome === 'ok' ? [] : [outcome])].join(' '),
  );
}
