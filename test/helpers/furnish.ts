/** A vault with a record of every kind in it. */
import { loadBinTable } from '../../server/bin-table/command.ts';
import { newAuthority } from '../workers/crypto/authority.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Sending } from './clients.ts';
import { clientOf, type MadeCredential, makeCredential, operatorClient } from './credentials.ts';
import { createCapture, createRetrieve, type MadeEndpoint, useEndpoint } from './endpoints.ts';
import { type MadeInbound, newInbound } from './inbound.ts';
import { person } from './people.ts';
import { acceptedId, CARD, proxyPost } from './proxy.ts';
import { sealingKey } from './sealing.ts';
import type { TestVault } from './vault.ts';

const BINS = `bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level
411111,411111,VISA,Bank,Germany,CREDIT,GOLD
`;

/** Recovery custodians. Their identities (private keys) are not in the tests. */
const RECIPIENTS = [
  'age1cy0su9fwf3gf9mw868g5yut09p6nytfmmnktexz2ya5uqg9vl9sss4euqm',
  'age12ld5kdvlywh9u9rwfcj3ypt8q3ez2p353s2sc9r485xfx0gy6sss5uskuv',
];

/** A request whose reply is kept. */
export const REPEATABLE: Sending & { readonly idempotencyKey: string } = {
  query: { user: 'u' },
  body: { card_number: '378282246310005' },
  passphrase: PASSPHRASE,
  idempotencyKey: 'before',
};

/** The connection `pay`, of whose credentials nothing is ever shown. */
const CONNECTION = {
  id: 'pay',
  base_url: 'https://127.0.0.1:9/v1/',
  headers: [{ Authorization: 'Bearer 5Lq2-canary-of-a-header' }],
  inbound: true,
};

/** The contents of the vault. All items are in key `u` of the account. */
export interface Furnished {
  readonly client: AccountClient;
  readonly kid: string;
  /** {@link CARD}, with a reference `order/1` and codes. */
  readonly card: string;
  /** The reference that its capture has given it. */
  readonly capturedReference: string;
  /** An item without codes that was opened three times. */
  readonly opened: string;
  /** A token that stands for one number for ever. */
  readonly luhn: string;
  readonly captured: string;
  readonly capture: MadeEndpoint;
  readonly retrieve: MadeEndpoint;
  readonly inbound: MadeInbound;
  readonly csr: string;
  readonly certificate: string;
  readonly job: string;
  /** A job that was cancelled. */
  readonly ended: string;
  readonly credential: MadeCredential;
  /** The answer that is kept for {@link REPEATABLE}. */
  readonly replied: Answer;
}

/** A job that is cancelled. One that has begun before that cannot be cancelled any more: then the next is tried. */
async function cancelled(
  client: AccountClient,
  accept: () => Promise<string>,
  triesLeft = 20,
): Promise<string> {
  const id = await accept();
  const { status, text } = await client.send('DELETE', `/proxy/job/${id}`);
  if (status === 200) {
    return id;
  }
  return triesLeft === 0 ? Promise.reject(new Error(text)) : cancelled(client, accept, triesLeft - 1);
}

async function good(work: Promise<Answer>): Promise<Answer> {
  const answer = await work;
  if (answer.outcome !== '200') {
    throw new Error(`The vault answered ${answer.status} ${answer.text}`);
  }
  return answer;
}

/** Makes a subscription with a delivery that waits, and one that was cancelled. */
async function furnishEvents(vault: TestVault, client: AccountClient): Promise<void> {
  const body = { url: 'https://127.0.0.1:9/', secret: '7Kd1-canary-of-a-secret', types: ['key.recovered'] };
  const { id } = (await good(client.send('POST', '/event/subscription', { body }))).as<{
    readonly id: string;
  }>();
  await good(client.send('POST', `/event/subscription/${id}/test`));
  await good(client.send('POST', `/event/subscription/${id}/test`));
  await vault.opened.services.events.round();
  const jobs = await good(client.send('GET', '/proxy/job', { query: { kind: 'event' } }));
  const [first] = jobs.as<readonly { readonly id: string }[]>();
  await good(client.send('DELETE', `/proxy/job/${first?.id}`));
}

/** Makes a person who is signed in, and keeps a passphrase. */
async function furnishPerson(vault: TestVault, client: AccountClient): Promise<void> {
  const member = await person(vault, client, 'owner');
  const body = { key: 'u', passkey_id: member.passkey.id, wrap: 'A'.repeat(120) };
  await good(member.send('PUT', '/person/self/passphrase', { body }));
}

/** Makes an account with a record of every kind. The vault's jobs must not run, so that one waits. */
export async function furnish(vault: TestVault): Promise<Furnished> {
  const client = await vault.account();
  await vault.opened.services.accounts.set(client.name, { paying: true });
  await vault.opened.services.compliance.load(Buffer.from('%PDF-1.7\n%%EOF\n'));
  await client.key('u');
  await client.key('empty');
  const recovery = { user: 'empty', passphrase: PASSPHRASE, recipients: RECIPIENTS, threshold: 2 };
  await good(client.send('POST', '/key/recovery', { body: recovery }));
  const card = await client.store('u', CARD, { reference: 'order/1' });
  const facts = { metadata: '{"tier":"gold","batch":"7"}', ttl: 'P30D' };
  const opened = await client.store('u', { card_number: '5555555555554444', name: 'x' }, facts);
  for (let n = 0; n < 3; n++) {
    await client.open('u', opened);
  }
  const luhn = await client.store('u', { card_number: '4000056655665556' }, { algorithm: 'luhn' });
  const capture = await createCapture(client, 'u', { ttl: 'P30D' });
  const retrieve = await createRetrieve(client, 'u', { ttl: 'P30D' });
  const captured = await good(
    useEndpoint(vault, 'POST', capture.url, {
      secret: capture.secret,
      body: { card_number: '6011111111111117' },
    }),
  );
  await sealingKey(vault);
  await good(client.send('POST', '/rule', { query: { id: 'r' }, body: [{ name: 'noop' }] }));
  await good(client.send('POST', '/connection', { body: CONNECTION }));
  const inbound = await newInbound(client, { connection: CONNECTION.id, expires_in: 'P30D' });
  const csr = (await good(client.send('POST', '/proxy/csr', { body: { cn: 'shop.example' } }))).as<{
    readonly id: string;
    readonly data: string;
  }>();
  const pem = await (await newAuthority()).issue(csr.data);
  const headers = { 'content-type': 'application/x-pem-file' };
  const certificate = (
    await good(client.send('POST', '/proxy/cert', { query: { csr_id: csr.id }, body: pem, headers }))
  ).as<{ readonly id: string }>();
  await good(client.send('POST', '/retrieve/iframe', { query: { form_id: `f-${client.name}` }, body: {} }));
  const order = {
    request: { method: 'POST', url: 'https://127.0.0.1:9/', body: '{{card_number}}' },
    synchronous: false,
    webhook: { url: 'https://127.0.0.1:9/', max_attempts: 3 },
  };
  const accept = async () =>
    acceptedId(await proxyPost({ account: client, user: 'u', token: opened }, order));
  const ended = await cancelled(client, accept);
  const job = await accept();
  const credential = await makeCredential(client, ['vault:list', 'job:read']);
  await good(clientOf(vault.handle, client, credential).send('GET', '/whoami'));
  await furnishPerson(vault, client);
  const operator = await operatorClient(vault);
  await good(operator.send('POST', '/account', { body: { name: 'former' } }));
  await good(operator.send('DELETE', '/account/former'));
  // One log is written after the lengths of all others were recorded.
  await vault.opened.checkpoint();
  const replied = await good(client.send('POST', '/vault', REPEATABLE));
  await furnishEvents(vault, client);
  await loadBinTable({ binStore: vault.opened.stores.binStore, randomId: vault.opened.randomId }, BINS);
  await vault.opened.services.compliance.load(Buffer.from('%PDF-1.7\n%%EOF\n'));
  const kid = await vault.kidOf(client, 'u');
  const capturedInfo = captured.as<{ readonly token: string; readonly reference: string }>();
  return {
    ...{ client, kid, card, opened, luhn, capture, retrieve, inbound, job, ended, credential, replied },
    captured: capturedInfo.token,
    capturedReference: capturedInfo.reference,
    csr: csr.id,
    certificate: certificate.id,
  };
}
