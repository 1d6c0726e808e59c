/**
 * What a program does with the SDK, whatever runs it. Test programs get this file without its types, so it uses
 * nothing but the SDK that it is handed and what the web's standards name.
 */
import type * as Sdk from '../../../sdk/index.ts';

/** What the programs are given: a vault, an account on it, a webhook call, and a peer whose replies break off. */
export interface Given {
  readonly baseUrl: string;
  readonly username: string;
  readonly password: string;
  readonly passphrase: string;
  readonly webhook: {
    readonly headers: Record<string, string>;
    readonly body: string;
    readonly secret: string;
  };
  readonly brokenUrl: string | undefined;
}

/** Whose files nobody opens. */
const RECIPIENT = 'age1cy0su9fwf3gf9mw868g5yut09p6nytfmmnktexz2ya5uqg9vl9sss4euqm';
const CARDS = ['4111111111111111', '5555555555554444', '378282246310005'];

/** What a client is made of. */
function accountOf({ baseUrl, username, password, passphrase }: Given) {
  return {
    baseUrl,
    username,
    password,
    passphrase,
  };
}

async function failureOf(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return error;
  }
}

/** Endpoints of both kinds, used as somebody without an account does. */
async function useEndpoints(sdk: typeof Sdk, client: Sdk.Vault, { baseUrl }: Given, user: string) {
  const made = await client.capture.create({ user, ttl: '10m' });
  const checkout = sdk.captureClient({ url: baseUrl + made.url, secret: made.secret });
  const captured = await checkout.submit({ data: { card_number: CARDS[1], holder: 'Zoë' }, reference: 'r1' });
  const lock = { user, reference: 'r1', mask_fields: ['card_number'] };
  const open = await client.retrieve.create({ ...lock, ttl: '10m' });
  const desk = sdk.retrieveClient({ url: baseUrl + open.url, secret: open.secret });
  const shown = await desk.decrypt({ token: captured.token, reference: 'r1' });
  console.log(checkout, desk);
  return { captured: captured.user, shown };
}

async function useWebhook(sdk: typeof Sdk, { headers, body, secret }: Given['webhook']) {
  const event = await sdk.webhooks.verify<{ order: string }>(headers, body, secret);
  const forged = await failureOf(() => sdk.webhooks.verify(headers, `${body} `, secret));
  return { order: event.order, forged: forged instanceof sdk.VaultWebhookError && forged.code };
}

/** What can go wrong, each told by class and code. */
async function useErrors(sdk: typeof Sdk, client: Sdk.Vault, user: string, token: string) {
  const taken = await failureOf(() => client.keys.create({ user, passphrase: 'another-passphrase' }));
  const wrong = await failureOf(() =>
    client.vault.decrypt({ user, token, passphrase: 'canary-wrong-phrase' }),
  );
  const stopped = await failureOf(() =>
    client.admin.whoami({ signal: AbortSignal.abort(new Error('enough')) }),
  );
  console.log(taken, wrong, JSON.stringify([taken, wrong]));
  return [
    taken instanceof sdk.VaultApiError && [taken.status, taken.code, taken.requestId !== undefined],
    wrong instanceof sdk.VaultError && wrong instanceof sdk.VaultApiError && wrong.code,
    stopped instanceof Error && stopped.message,
  ];
}

/** A reply that breaks off after its first item. */
async function useBroken(sdk: typeof Sdk, given: Given) {
  if (given.brokenUrl === undefined) {
    return ['a', true];
  }
  const client = new sdk.Vault({ ...accountOf(given), baseUrl: given.brokenUrl, retries: 0 });
  const seen: unknown[] = [];
  const end = await failureOf(async () => {
    for await (const { token } of client.vault.decryptAll({ user: 'shop' })) {
      seen.push(token);
    }
  });
  return [...seen, end instanceof sdk.VaultConnectionError];
}

/** Does a merchant's work under a key named after the runtime, and says what came of it. */
export async function work(sdk: typeof Sdk, given: Given, user: string) {
  const client = new sdk.Vault(accountOf(given));
  const { passphrase } = given;
  await client.keys.create({ user, passphrase });
  const stored: string[] = [];
  for (const card_number of CARDS) {
    stored.push((await client.vault.store({ user, data: { card_number } })).token);
  }
  const card = await client.vault.decrypt({ user, token: stored[0] ?? '' });
  const numbers: unknown[] = [];
  for await (const { data } of client.vault.decryptAll({ user, limit: 2 })) {
    numbers.push(data['card_number']);
  }
  const file = await client.vault.export({ user, recipients: [RECIPIENT] });
  const [version] = (await new Response(file).text()).split('\n');
  const endpoints = await useEndpoints(sdk, client, given, user);
  console.log(client, `${client} ${JSON.stringify(client)}`);
  return {
    card,
    numbers,
    version,
    ...endpoints,
    webhook: await useWebhook(sdk, given.webhook),
    errors: await useErrors(sdk, client, user, stored[0] ?? ''),
    broken: await useBroken(sdk, given),
  };
}

/** What `work` must say everywhere. */
export function worked(user: string): Awaited<ReturnType<typeof work>> {
  return {
    card: { card_number: CARDS[0] },
    numbers: CARDS,
    version: 'age-encryption.org/v1',
    captured: user,
    shown: { card_number: '************4444', holder: 'Zoë' },
    webhook: { order: '4711', forged: 'signature_mismatch' },
    errors: [[409, 'key_exists', true], 'passphrase_wrong', 'enough'],
    broken: ['a', true],
  };
}
