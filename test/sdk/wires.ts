/** What each method of the SDK sends: the table that the tests of the wire and of the contract go through. */
import type { CaptureClient, RetrieveClient, Vault } from '../../sdk/index.ts';
import { ACCOUNTS } from './wires/account.ts';
import { ADMIN } from './wires/admin.ts';
import { AUDIT } from './wires/audit.ts';
import { BATCHES } from './wires/batch.ts';
import { CERTIFICATES } from './wires/certificate.ts';
import { CONNECTIONS } from './wires/connection.ts';
import { CREDENTIALS } from './wires/credential.ts';
import { EVENTS } from './wires/event.ts';
import { INBOUNDS } from './wires/inbound.ts';
import { KEYS } from './wires/key.ts';
import { PERSONS } from './wires/person.ts';
import { RECOVERIES } from './wires/recovery.ts';
import { RELAYS } from './wires/relay.ts';

/** A card number that must show up nowhere but in the request that carries it. */
export const CANARY_NUMBER = '4000000000000002';
/** The secrets of the endpoints, told apart from each other and from everything else. */
export const SECRETS = {
  capture: 'vcs1_canarycanarycanarycanarycanarycanarycanaryc',
  retrieve: 'vrs1_canarycanarycanarycanarycanarycanarycanaryr',
} as const;
/** The id of the endpoints, which has every kind of character that one may have. */
export const UNIQUE_ID = 'Web.Shop_1@x:-';

/** One client of each kind, all of them of the same service. */
export interface Clients {
  readonly client: Vault;
  readonly checkout: CaptureClient;
  readonly desk: RetrieveClient;
}

export interface Wire {
  readonly call: (clients: Clients) => Promise<unknown>;
  /** Method, path and query. */
  readonly request: string;
  readonly body?: unknown;
  /** A body that is no JSON. */
  readonly text?: string;
  readonly passphrase?: true;
  readonly keyed?: true;
  /** The version that the item must have. */
  readonly version?: string;
  /** What the service answers, where the call looks at it. */
  readonly reply?: unknown;
  /** Sent in place of the account's credentials. */
  readonly secret?: keyof typeof SECRETS | 'none';
}

const item = { user: 'shop', token: 't1', reference: 'r&1' };
const data = { card_number: CANARY_NUMBER };
const rule = { id: 'short-year', operations: [{ name: 'substr', arguments: { start: -2 } }] };

const VAULT: Readonly<Record<string, Wire>> = {
  'vault.store': {
    call: ({ client }) => client.vault.store({ user: 'shop', reference: 'r&1', algorithm: 'uuid', data }),
    request: 'POST /v1/vault?user=shop&reference=r%261&algorithm=uuid',
    body: data,
    passphrase: true,
    keyed: true,
  },
  'vault.decrypt': {
    call: ({ client }) =>
      client.vault.decrypt({ ...item, mask_fields: ['cvv', 'card.pan'], rules: ['a', 'b'] }),
    request: 'GET /v1/vault?user=shop&token=t1&reference=r%261&mask_fields=cvv%2Ccard.pan&rules=a%2Cb',
    passphrase: true,
  },
  'vault.decryptText': {
    call: ({ client }) => client.vault.decryptText({ user: 'shop', token: 't1' }),
    request: 'GET /v1/vault?user=shop&token=t1',
    passphrase: true,
  },
  'vault.decryptVersioned': {
    call: ({ client }) => client.vault.decryptVersioned({ user: 'shop', token: 't1' }),
    request: 'GET /v1/vault?user=shop&token=t1',
    passphrase: true,
  },
  'vault.list': {
    call: ({ client }) => client.vault.list({ user: 'shop', limit: 5, stored_after: '2026-01-31T12:00:00Z' }),
    request: 'GET /v1/vault?user=shop&limit=5&stored_after=2026-01-31T12%3A00%3A00Z',
  },
  'vault.items': {
    call: ({ client }) => Array.fromAsync(client.vault.items({ user: 'customers', limit: 2 })),
    request: 'GET /v1/vault?user=customers&limit=2',
  },
  'vault.list by metadata': {
    call: ({ client }) => client.vault.list({ user: 'shop', metadata: { tier: 'gold', note: 'a,b:c' } }),
    request: 'GET /v1/vault?user=shop&metadata=tier%3Agold&metadata=note%3Aa%2Cb%3Ac',
  },
  'vault.list by metadata as the API writes it': {
    call: ({ client }) => client.vault.list({ user: 'shop', metadata: ['tier:gold', 'note:a,b:c'] }),
    request: 'GET /v1/vault?user=shop&metadata=tier%3Agold&metadata=note%3Aa%2Cb%3Ac',
  },
  'vault.decryptAll by one text of metadata': {
    call: ({ client }) => Array.fromAsync(client.vault.decryptAll({ user: 'shop', metadata: 'tier:gold' })),
    request: 'GET /v1/vault?limit=-1&user=shop&metadata=tier%3Agold&decrypt_all=true',
    passphrase: true,
  },
  'vault.pages': {
    call: ({ client }) => Array.fromAsync(client.vault.pages({ user: 'shop' })),
    request: 'GET /v1/vault?user=shop',
  },
  'vault.decryptAll': {
    call: ({ client }) => Array.fromAsync(client.vault.decryptAll({ user: 'shop' })),
    request: 'GET /v1/vault?limit=-1&user=shop&decrypt_all=true',
    passphrase: true,
  },
  'vault.export': {
    call: async ({ client }) =>
      new Response(
        await client.vault.export({ user: 'shop', recipients: ['age1'], reference_prefix: 'r' }),
      ).bytes(),
    request: 'POST /v1/vault/export',
    body: { user: 'shop', recipients: ['age1'], reference_prefix: 'r' },
    passphrase: true,
  },
  'vault.update': {
    call: ({ client }) => client.vault.update({ ...item, rules: ['a'], data: { expiry: '01/31' } }),
    request: 'POST /v1/vault/update?user=shop&token=t1&reference=r%261&rules=a',
    body: { expiry: '01/31' },
    passphrase: true,
    keyed: true,
  },
  'vault.update of a version': {
    call: ({ client }) => client.vault.update({ ...item, version: '0123456789abcdef', data }),
    request: 'POST /v1/vault/update?user=shop&token=t1&reference=r%261',
    body: data,
    passphrase: true,
    keyed: true,
    version: '0123456789abcdef',
  },
  'vault.delete of a version': {
    call: ({ client }) => client.vault.delete({ ...item, version: '0123456789abcdef' }),
    request: 'DELETE /v1/vault?user=shop&token=t1&reference=r%261',
    version: '0123456789abcdef',
  },
  'vault.delete': {
    call: ({ client }) => client.vault.delete(item),
    request: 'DELETE /v1/vault?user=shop&token=t1&reference=r%261',
  },
  'vault.log': {
    call: ({ client }) => client.vault.log({ ...item, limit: 1 }),
    request: 'GET /v1/vault/metadata?user=shop&token=t1&reference=r%261&limit=1',
  },
  'vault.logPages': {
    call: ({ client }) => Array.fromAsync(client.vault.logPages({ ...item, limit: 1 })),
    request: 'GET /v1/vault/metadata?user=shop&token=t1&reference=r%261&limit=1',
  },
  'vault.access': {
    call: ({ client }) => client.vault.access({ user: 'shop', source_ip: '192.0.2.0/24', limit: 1 }),
    request: 'GET /v1/vault/access?user=shop&source_ip=192.0.2.0%2F24&limit=1',
  },
  'vault.accessPages': {
    call: ({ client }) => Array.fromAsync(client.vault.accessPages({ endpoint: 'e1' })),
    request: 'GET /v1/vault/access?endpoint=e1',
  },
};
const captured = {
  ...{ reference: 'r&1', number: CANARY_NUMBER, algorithm: 'uuid', data: { name: 'Zoë' } },
  ...{ ttl: 'P1D', metadata: { tier: 'gold' } },
};
const SUBMITTED = {
  request:
    `POST /v1/capture/Web.Shop_1%40x%3A-?reference=r%261&number=${CANARY_NUMBER}&algorithm=uuid&ttl=P1D` +
    '&metadata=%7B%22tier%22%3A%22gold%22%7D',
  ...({ body: captured.data, keyed: true, secret: 'capture' } as const),
};
const CHECKED = { request: 'GET /v1/capture/Web.Shop_1%40x%3A-', secret: 'capture' } as const;
const SEALED_TO = { request: 'GET /v1/capture/Web.Shop_1%40x%3A-/sealing-key', secret: 'none' } as const;
const MADE = { unique_id: UNIQUE_ID, expires_at: null, secret: SECRETS.capture };
/** As creating one locked to a token returns it: nothing of it but id and secret may be sent by itself. */
const FOUND = { ...MADE, user: 'shop', token: 'locked', secret: SECRETS.retrieve };

const CAPTURE: Readonly<Record<string, Wire>> = {
  'capture.create': {
    call: ({ client }) =>
      client.capture.create({ user: 'shop', unique_id: UNIQUE_ID, ttl: 'PT45M', rules: ['a', 'b'] }),
    request: 'POST /v1/capture?user=shop&unique_id=Web.Shop_1%40x%3A-&ttl=PT45M&rules=a%2Cb',
    passphrase: true,
  },
  'capture.list': {
    call: ({ client }) => client.capture.list({ user: 'shop' }),
    request: 'GET /v1/capture?user=shop',
  },
  'capture.check': { call: ({ client }) => client.capture.check(MADE), ...CHECKED },
  'capture.networks': {
    call: ({ client }) => client.capture.networks({ ...MADE, digits: '41111111' }),
    request: 'GET /v1/capture/Web.Shop_1%40x%3A-/bin/41111111',
    secret: 'capture',
  },
  'captureClient.check': { call: ({ checkout }) => checkout.check(), ...CHECKED },
  'capture.submit': {
    call: ({ client }) => client.capture.submit({ ...MADE, ...captured }),
    ...SUBMITTED,
  },
  'capture.submit by url': {
    call: ({ client }) =>
      client.capture.submit({ url: `/v1/capture/${UNIQUE_ID}`, secret: SECRETS.capture, ...captured }),
    ...SUBMITTED,
  },
  'captureClient.submit': {
    call: ({ checkout }) => checkout.submit(captured),
    ...SUBMITTED,
  },
  'captureClient.sealingKey': { call: ({ checkout }) => checkout.sealingKey(), ...SEALED_TO },
  'capture.delete': {
    call: ({ client }) => client.capture.delete({ unique_id: UNIQUE_ID }),
    request: 'DELETE /v1/capture/Web.Shop_1%40x%3A-',
  },
};
const found = { token: 't1', reference: 'r&1' };
const filter = { reference_prefix: 'r', limit: 5, next_token: 'n' };
const TO = 'GET /v1/retrieve/Web.Shop_1%40x%3A-';

/** Reading is the same through a client and through an endpoint alone, but for the names. */
const READ: Readonly<Record<string, Wire>> = {
  'retrieve.decrypt': {
    call: ({ client }) => client.retrieve.decrypt({ ...FOUND, ...found }),
    request: `${TO}?token=t1&reference=r%261`,
    secret: 'retrieve',
  },
  'retrieve.decryptText': {
    call: ({ client }) =>
      client.retrieve.decryptText({
        url: `/v1/retrieve/${UNIQUE_ID}/`,
        secret: SECRETS.retrieve,
        token: 't1',
      }),
    request: `${TO}?token=t1`,
    secret: 'retrieve',
  },
  'retrieve.listItems': {
    call: ({ client }) => client.retrieve.listItems({ ...FOUND, ...filter }),
    request: `${TO}?reference_prefix=r&limit=5&next_token=n`,
    secret: 'retrieve',
  },
  'retrieve.itemPages': {
    call: ({ client }) => Array.fromAsync(client.retrieve.itemPages({ ...FOUND, ...filter })),
    request: `${TO}?reference_prefix=r&limit=5&next_token=n`,
    secret: 'retrieve',
  },
  'retrieve.decryptAll': {
    call: ({ client }) => Array.fromAsync(client.retrieve.decryptAll({ ...FOUND, reference: 'r&1' })),
    request: `${TO}?limit=-1&reference=r%261&decrypt_all=true`,
    secret: 'retrieve',
  },
  'retrieveClient.decrypt': {
    call: ({ desk }) => desk.decrypt(found),
    request: `${TO}?token=t1&reference=r%261`,
    secret: 'retrieve',
  },
  'retrieveClient.decryptText': {
    call: ({ desk }) => desk.decryptText({ token: 't1' }),
    request: `${TO}?token=t1`,
    secret: 'retrieve',
  },
  'retrieveClient.list': { call: ({ desk }) => desk.list(), request: TO, secret: 'retrieve' },
  'retrieveClient.pages': {
    call: ({ desk }) => Array.fromAsync(desk.pages(filter)),
    request: `${TO}?reference_prefix=r&limit=5&next_token=n`,
    secret: 'retrieve',
  },
  'retrieveClient.decryptAll': {
    call: ({ desk }) => Array.fromAsync(desk.decryptAll({ limit: 7 })),
    request: `${TO}?limit=7&decrypt_all=true`,
    secret: 'retrieve',
  },
};

const RETRIEVE: Readonly<Record<string, Wire>> = {
  'retrieve.create': {
    call: ({ client }) => client.retrieve.create({ ...item, ttl: '0', mask_fields: ['cvv', 'pin'] }),
    request: 'POST /v1/retrieve?user=shop&token=t1&reference=r%261&ttl=0&mask_fields=cvv%2Cpin',
    passphrase: true,
  },
  'retrieve.list': { call: ({ client }) => client.retrieve.list(), request: 'GET /v1/retrieve' },
  ...READ,
  'retrieve.delete': {
    call: ({ client }) => client.retrieve.delete({ unique_id: UNIQUE_ID }),
    request: 'DELETE /v1/retrieve/Web.Shop_1%40x%3A-',
  },
};

const request = { method: 'POST', url: 'https://pay.example.com', body: '{"n":"{{card_number}}"}' } as const;
const webhook = {
  url: 'https://shop.example.com',
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  metadata: { order: '4711' },
};

const PROXY: Readonly<Record<string, Wire>> = {
  'proxy.post': {
    call: ({ client }) =>
      client.proxy.post({ ...item, attempts: 2, debug: true, rules: ['a', 'b'], request, webhook }),
    request: 'POST /v1/proxy/post?user=shop&token=t1&reference=r%261&attempts=2&debug=true&rules=a%2Cb',
    body: { request, webhook },
    passphrase: true,
    keyed: true,
  },
  'proxy.post and wait': {
    call: ({ client }) => client.proxy.post({ user: 'shop', token: 't1', request, synchronous: true }),
    request: 'POST /v1/proxy/post?user=shop&token=t1',
    body: { request, synchronous: true },
    passphrase: true,
    keyed: true,
  },
  'proxy.fetch': {
    call: ({ client }) =>
      client.proxy.fetch({ user: 'shop', smart_parse: true, algorithm: 'uuid', request, webhook }),
    request: 'POST /v1/proxy/get?user=shop&smart_parse=true&algorithm=uuid',
    body: { request, webhook },
    passphrase: true,
    keyed: true,
  },
  'proxy.fetch and wait': {
    call: ({ client }) => client.proxy.fetch({ user: 'shop', request, synchronous: true }),
    request: 'POST /v1/proxy/get?user=shop',
    body: { request, synchronous: true },
    passphrase: true,
    keyed: true,
  },
  'proxy.networkToken': {
    call: ({ client }) => client.proxy.networkToken({ ...item, requester_id: 'sim', webhook }),
    request: 'POST /v1/proxy/network_token?user=shop&token=t1&reference=r%261&requester_id=sim',
    body: { webhook },
    passphrase: true,
    keyed: true,
  },
};

const OTHERS: Readonly<Record<string, Wire>> = {
  'forms.create': {
    call: ({ client }) =>
      client.forms.create({
        form_type: 'ach',
        form_id: UNIQUE_ID,
        hide_card: true,
        theme: { style: 'modern' },
      }),
    request: `POST /v1/retrieve/iframe?form_type=ach&form_id=${encodeURIComponent(UNIQUE_ID)}`,
    body: { hide_card: true, theme: { style: 'modern' } },
  },
  'forms.create of nothing': {
    call: ({ client }) => client.forms.create(),
    request: 'POST /v1/retrieve/iframe',
    body: {},
  },
  'forms.get': {
    call: ({ client }) => client.forms.get({ form_id: 'f1' }),
    request: 'GET /v1/retrieve/iframe?form_id=f1',
  },
  'forms.list': { call: ({ client }) => client.forms.list(), request: 'GET /v1/retrieve/iframe' },
  'forms.replace': {
    call: ({ client }) => client.forms.replace({ form_id: UNIQUE_ID, hide_card: true }),
    request: `PUT /v1/retrieve/iframe/${encodeURIComponent(UNIQUE_ID)}`,
    body: { hide_card: true },
  },
  'forms.delete': {
    call: ({ client }) => client.forms.delete({ form_id: UNIQUE_ID }),
    request: `DELETE /v1/retrieve/iframe/${encodeURIComponent(UNIQUE_ID)}`,
  },
  'rules.create': {
    call: ({ client }) => client.rules.create(rule),
    request: 'POST /v1/rule?id=short-year',
    body: rule.operations,
  },
  'rules.get': {
    call: ({ client }) => client.rules.get({ id: 'short-year' }),
    request: 'GET /v1/rule?id=short-year',
  },
  'rules.list': { call: ({ client }) => client.rules.list(), request: 'GET /v1/rule' },
  'rules.delete': {
    call: ({ client }) => client.rules.delete({ id: 'short-year' }),
    request: 'DELETE /v1/rule?id=short-year',
  },
  'rules.test': {
    call: ({ client }) => client.rules.test({ operations: rule.operations, input: { year: '2031' } }),
    request: 'POST /v1/rule/test',
    body: { operations: rule.operations, input: { year: '2031' } },
  },
  'rules.operations': {
    call: ({ client }) => client.rules.operations(),
    request: 'GET /v1/rule/operations',
  },
  'utility.luhn': {
    call: ({ client }) => client.utility.luhn({ number: CANARY_NUMBER }),
    request: `GET /v1/luhn?number=${CANARY_NUMBER}`,
  },
  'utility.passphrase': {
    call: ({ client }) => client.utility.passphrase({ length: 32 }),
    request: 'GET /v1/passphrase?length=32',
  },
};

/** Every method by its name, with its request; some of them more than once. */
export const WIRES: Readonly<Record<string, Wire>> = {
  ...KEYS,
  ...RECOVERIES,
  ...VAULT,
  ...RELAYS,
  ...INBOUNDS,
  ...BATCHES,
  ...CAPTURE,
  ...RETRIEVE,
  ...PROXY,
  ...CERTIFICATES,
  ...CONNECTIONS,
  ...EVENTS,
  ...CREDENTIALS,
  ...PERSONS,
  ...OTHERS,
  ...AUDIT,
  ...ACCOUNTS,
  ...ADMIN,
};
