import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { appendOnlyText, type Canaries, canariesIn, dumpRedis } from '../helpers/canaries.ts';
import type { AccountClient, Answer, Sending } from '../helpers/clients.ts';
import { capture, type MadeEndpoint, retrieve, type Use } from '../helpers/endpoints.ts';
import { startTestRedis, type TestRedis } from '../helpers/redis.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

/** What callers put into rules, endpoints and captures. */
const TEXTS = {
  template: 'canary-literal-of-a-template-k3',
  hashKey: 'canary-key-of-a-hash-v8',
  replacement: 'canary-replacement-b5',
  format: 'canary-format-string-%v-c6',
  field: 'canary_field_name_d7',
  path: 'canary.dotted.path.e8',
  lockReference: 'canary reference of a lock ü f9',
  lockToken: 'canary-token-of-a-lock-g1',
  maskField: 'canary_masked_field_h2',
  number: '5204740009900014',
  queried: '6011000990139424',
  cvv: 'cvv-canary-9417',
  holder: 'Canary Holder Qzvw',
  nested: 'canary-nested-value-xk7',
  reference: 'canary-reference-of-a-capture-8d2k',
  agent: 'canary-user-agent-of-a-visitor/75',
  address: '203.0.113.212',
  idempotency: 'canary-idempotency-key-76',
  passphrase: 'canary passphrase of the key 71',
  changed: 'canary passphrase after the change 72',
  wrong: 'vcs1_CanaryOfASecretThatIsWrong_aaaaaaaaaaaaaaaaaaaaa',
} as const;

let redis: TestRedis;
let vault: TestVault;
let client: AccountClient;
const secrets: Record<string, string | Uint8Array> = {};
const refusals: Answer[] = [];

function noted(answer: Answer): Answer {
  if (answer.status !== 200) {
    refusals.push(answer);
  }
  return answer;
}
async function send(method: string, path: string, sending: Sending = {}): Promise<Answer> {
  return noted(await client.send(method, path, sending));
}
async function visit(made: MadeEndpoint, sending: Use): Promise<Answer> {
  const headers = { 'user-agent': TEXTS.agent, 'x-forwarded-for': TEXTS.address };
  const way = made.url.includes('/capture/') ? capture : retrieve;
  return noted(await way(vault, made, { headers, ...sending }));
}
function found(text: string): string[] {
  return canariesIn({ ...TEXTS, ...secrets } satisfies Canaries, text);
}

async function make(kind: 'capture' | 'retrieve', query: Record<string, string>): Promise<MadeEndpoint> {
  const sending = { query: { user: 'u', ...query }, passphrase: TEXTS.passphrase };
  const made = (await send('POST', `/${kind}`, sending)).as<MadeEndpoint>();
  const characters = made.secret.slice(5);
  secrets[`secret of ${made.unique_id}`] = characters;
  secrets[`bytes of the secret of ${made.unique_id}`] = Buffer.from(characters, 'base64url');
  return made;
}

const RULE = [
  {
    name: 'template',
    input_field: '*',
    output_field: '*',
    arguments: {
      template: `{"number":"{{card.number}}","cvv":"{{card.cvc}}","holder":"{{card.name}}","literal":"${TEXTS.template}","n":"{{${TEXTS.path}}}"}`,
    },
  },
  {
    name: 'hash',
    input_field: 'holder',
    output_field: TEXTS.field,
    arguments: { algorithm: 'hmac-sha-256', key: TEXTS.hashKey },
  },
  { name: 'replace', input_field: 'literal', arguments: { substr: 'x', new_str: TEXTS.replacement } },
  {
    name: 'format',
    input_field: '*',
    output_field: 'made',
    arguments: { format_string: TEXTS.format, keys: [TEXTS.field] },
  },
];
const BODY = {
  card: { number: TEXTS.number, cvc: TEXTS.cvv, name: TEXTS.holder, deep: [{ x: TEXTS.nested }] },
};
const PLAIN = { card_number: TEXTS.number, cvv: TEXTS.cvv, holder: TEXTS.holder, deep: [TEXTS.nested] };

interface Made {
  readonly taking: MadeEndpoint;
  readonly giving: MadeEndpoint;
  readonly locked: MadeEndpoint;
}

/** Everything that can be done with rules and endpoints, with a canary wherever the caller may put something. */
async function useEverything(): Promise<Made> {
  await send('POST', '/key', { body: { user: 'u', passphrase: TEXTS.passphrase } });
  expect((await send('POST', '/rule', { query: { id: 'flat' }, body: RULE })).outcome).toBe('200');
  expect((await send('GET', '/rule')).text).toContain(TEXTS.template);
  const taking = await make('capture', { rules: 'flat', ttl: '0' });
  const plain = await make('capture', { unique_id: 'shop' });
  const giving = await make('retrieve', { reference: TEXTS.reference, mask_fields: TEXTS.maskField });
  const locked = await make('retrieve', { token: TEXTS.lockToken, reference: TEXTS.lockReference });
  expect((await send('GET', '/retrieve')).text).toContain(TEXTS.lockToken);
  const ruled = await visit(taking, {
    body: BODY,
    query: { reference: TEXTS.reference },
    idempotencyKey: TEXTS.idempotency,
  });
  expect(ruled.outcome).toBe('200');
  await visit(plain, { body: PLAIN, query: { return_card_metadata: true } });
  await visit(plain, { body: {}, query: { number: TEXTS.queried, reference: TEXTS.lockReference } });
  const { token } = ruled.as<{ token: string }>();
  const shown = await visit(giving, { query: { token, reference: TEXTS.reference } });
  expect(shown.text).toContain(TEXTS.number);
  await visit(giving, { query: { decrypt_all: true } });
  await visit(giving, {});
  const query = { user: 'u', token, reference: TEXTS.reference };
  const log = await send('GET', '/vault/metadata', { query });
  expect([log.text.includes(TEXTS.agent), log.text.includes(TEXTS.address)]).toEqual([true, true]);
  await send('GET', '/vault', { query: { ...query, rules: 'flat' }, passphrase: TEXTS.passphrase });
  return { taking, giving, locked };
}

/** One refusal of each kind, with canaries in the request. */
async function beRefused({ taking, giving, locked }: Made): Promise<void> {
  const { number, holder, wrong, reference } = TEXTS;
  await visit({ ...taking, secret: wrong }, { body: BODY });
  await visit({ ...giving, secret: taking.secret }, { query: { token: number } });
  await visit({ ...taking, url: `/v1/capture/${number}` }, { body: BODY });
  await visit(taking, { body: `{"${holder}":"${number}"` });
  await visit(taking, { body: { [holder]: holder } });
  await visit(taking, { body: BODY, query: { algorithm: number } });
  await visit(taking, { body: BODY, query: { reference: '' } });
  await visit(taking, { body: { ...BODY, more: 1 }, idempotencyKey: TEXTS.idempotency });
  await visit(taking, { body: { number, x: number.repeat(20_000) } });
  await visit(taking, { body: BODY, idempotencyKey: `${holder}\u0001` }).catch(() => undefined);
  await visit(locked, { query: { token: number } });
  await visit(locked, { query: { reference } });
  await visit(giving, { query: { token: number } });
  await visit(giving, { query: { next_token: holder } });
  await visit(giving, {
    query: { limit: number.slice(0, 4), reference_prefix: reference, decrypt_all: holder },
  });
  const creating = { user: 'u', unique_id: 'shop' };
  await send('POST', '/capture', { query: creating, passphrase: TEXTS.passphrase });
  await send('POST', '/capture', { query: { user: number }, passphrase: TEXTS.passphrase });
  await send('POST', '/capture', { query: { user: 'u', ttl: holder }, passphrase: TEXTS.passphrase });
  await send('POST', '/retrieve', {
    query: { user: 'u', token: holder.repeat(40) },
    passphrase: TEXTS.passphrase,
  });
  await send('POST', '/retrieve', { query: { user: 'u' }, passphrase: wrong });
  await send('DELETE', `/capture/${number}`);
  await send('POST', '/rule', { query: { id: 'flat' }, body: RULE });
  await send('POST', '/rule', { query: { id: holder }, body: RULE });
  for (const [name, args] of [
    ['template', { template: `{{#${TEXTS.template}` }],
    ['hash', { algorithm: TEXTS.hashKey, key: TEXTS.hashKey }],
    ['encrypt', { algorithm: 'rsa-oaep-256', public_key: TEXTS.hashKey }],
    [TEXTS.format, {}],
    // A misspelt argument is named; what is no name of a member is not.
    ['substr', { [`${TEXTS.field} 1`]: 1 }],
  ] as const) {
    const body = [{ name, input_field: TEXTS.field, arguments: args }];
    expect((await send('POST', '/rule', { query: { id: 'bad' }, body })).status).toBe(400);
  }
  const growing = [
    {
      name: 'format',
      input_field: '*',
      output_field: 'a',
      arguments: { format_string: '%v'.repeat(64), keys: Array(64).fill('card.name') },
    },
    ...Array.from({ length: 30 }, () => ({
      name: 'template',
      input_field: '*',
      output_field: 'a',
      arguments: { template: '{{a}}'.repeat(64) },
    })),
  ];
  await send('POST', '/rule', { query: { id: 'growing' }, body: growing });
  await visit(await make('capture', { rules: 'growing' }), { body: { ...BODY, number } });
  await send('DELETE', '/rule', { query: { id: 'growing' } });
  await visit(await make('capture', { rules: 'growing' }), { body: { ...BODY, number } });
  const body = { user: 'u', passphrase: TEXTS.passphrase, new_passphrase: TEXTS.changed };
  expect((await send('PUT', '/key', { body })).outcome).toBe('200');
  await visit(taking, { body: BODY });
  await visit(giving, { query: { token: number } });
}

beforeAll(async () => {
  redis = await startTestRedis({ durable: true });
  vault = await openTestVault({ redis, trustedProxies: ['127.0.0.0/8'], authFailuresMax: 0 });
  client = await vault.account();
});
afterAll(async () => {
  await vault.close();
  await redis.stop();
});

describe('after rules and endpoints were used with canaries', () => {
  beforeAll(async () => {
    await beRefused(await useEverything());
  });

  test('Redis holds none of them, in no name and no value', async () => {
    const dump = await dumpRedis(vault.raw);
    expect(dump.length).toBeGreaterThan(10_000);
    expect(found(dump)).toEqual([]);
  });

  test('nor do the files of Redis, in which everything stands that was ever written', () => {
    const text = appendOnlyText(redis);
    expect(text).toContain('{e:shop}');
    expect(found(text)).toEqual([]);
  });

  test('nor do the server’s log lines', () => {
    expect(vault.lines.length).toBeGreaterThan(50);
    expect(found(vault.lines.map((line) => JSON.stringify(line)).join('\n'))).toEqual([]);
    expect(vault.lines.filter(({ event }) => event !== 'request')).toEqual([]);
  });

  test('nor does any refusal, in its body or its headers', () => {
    expect([...new Set(refusals.map(({ outcome }) => outcome))].sort()).toEqual([
      '400 cursor_invalid',
      '400 invalid_json',
      '400 invalid_request',
      '400 number_missing',
      '400 rule_limit',
      '403 endpoint_out_of_scope',
      '403 endpoint_refused',
      '403 passphrase_wrong',
      '404 endpoint_not_found',
      '404 key_not_found',
      '404 rule_not_found',
      '404 token_not_found',
      '409 endpoint_exists',
      '409 idempotency_conflict',
      '409 rule_exists',
      '410 endpoint_gone',
      '413 body_too_large',
    ]);
    for (const { text, headers, outcome } of refusals) {
      expect([outcome, found(text), found(JSON.stringify([...headers]))]).toEqual([outcome, [], []]);
    }
  });

  test('nor do the metrics', async () => {
    const response = await vault.handle(new Request('http://localhost/metrics'));
    expect(found(await response.text())).toEqual([]);
  });
});
