/** A token keeps digits of a number, and a mask ends, only where a caller has decided it who sees data unmasked. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Secret } from '../../../server/core/secret.ts';
import { actFor, createContext } from '../../../server/request/context.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../../helpers/clients.ts';
import { credentialClient } from '../../helpers/credentials.ts';
import {
  capture,
  createCapture,
  createRetrieve,
  type MadeEndpoint,
  retrieve,
} from '../../helpers/endpoints.ts';
import { proxyGet, requestTo } from '../../helpers/proxy.ts';
import { CARD, openStage, type Stage } from './stage.ts';

const SCOPES = ['proxy:send', 'proxy:fetch', 'capture:write', 'retrieve:write', 'preference:write'] as const;
const KEPT = ['partial_8_start', 'partial_16_end', 'partial_middle_6_4', 'partial_middle_0_0'];
const SAFE = ['full', 'luhn', 'uuid'];
const REFUSED = '403 not_allowed';

let stage: Stage;
/** Callers who may not decide what others see, and those who may. */
let barred: Readonly<Record<string, AccountClient>>;
let free: Readonly<Record<string, AccountClient>>;

beforeAll(async () => {
  stage = await openStage();
  const { vault, account } = stage;
  const masked = await vault.account({ unmasked: false });
  await masked.key('u');
  const reading = [...SCOPES, 'vault:read'] as const;
  const make = (scopes: typeof SCOPES | typeof reading, unmasked: boolean, maker = account) =>
    credentialClient(vault.handle, maker, scopes, { unmasked });
  barred = {
    'one that reads nothing': await make(SCOPES, false),
    'one that reads nothing, made with unmasked': await make(SCOPES, true),
    'one that reads masked': await make(reading, false),
    'one that reads, of a masked account': await make(reading, false, masked),
  };
  free = {
    'the account': account,
    'one that reads unmasked': await make(reading, true),
    'a masked account': masked,
  };
});
afterAll(() => stage.close());

/** Calls with each caller; a key and the account are the caller's own. */
async function outcomesOf(
  callers: Readonly<Record<string, AccountClient>>,
  call: (client: AccountClient) => Promise<Answer>,
) {
  const found: Record<string, string> = {};
  for (const [name, client] of Object.entries(callers)) {
    const { outcome, field } = await call(client);
    found[name] = field === undefined ? outcome : `${outcome} ${field}`;
  }
  return found;
}
function all(callers: Readonly<Record<string, AccountClient>>, outcome: string) {
  return Object.fromEntries(Object.keys(callers).map((name) => [name, outcome]));
}
function set(client: AccountClient, key: string, value: unknown): Promise<Answer> {
  return client.send('POST', '/preferences', { body: { key, value } });
}
function remove(client: AccountClient, key: string): Promise<Answer> {
  return client.send('DELETE', '/preferences', { query: { key } });
}
function make(client: AccountClient, query: Query): Promise<Answer> {
  return client.send('POST', '/capture', { query: { user: 'u', ...query }, passphrase: PASSPHRASE });
}
function tokenOf(answer: Answer): string {
  expect(answer.outcome).toBe('200');
  const { token, token_info } = answer.as<{ token?: string; token_info?: { token: string } }>();
  return token ?? token_info?.token ?? '';
}

describe('the preference default_algorithm', () => {
  test.each(KEPT)('is %s for callers alone who see data unmasked', async (algorithm) => {
    const setIt = (client: AccountClient) => set(client, 'default_algorithm', algorithm);
    expect(await outcomesOf(barred, setIt)).toEqual(all(barred, `${REFUSED} body.value`));
    expect(await outcomesOf(free, setIt)).toEqual(all(free, '200'));
    for (const client of Object.values(free)) {
      await remove(client, 'default_algorithm');
    }
  });

  test('is refused with escapes, and with a member that comes twice', async () => {
    const { account } = stage;
    for (const body of [
      '{"key":"default_algorithm","value":"\\u0070artial_8_end"}',
      '{"key":"default_\\u0061lgorithm","value":"partial_8_end"}',
      '{"key":"own","value":"partial_8_end","key":"default_algorithm"}',
      '{"key":"default_algorithm","value":"full","value":"partial_8_end"}',
      '{"key":"default_algorithm","value":["partial_8_end"]}',
    ]) {
      const client = barred['one that reads nothing'] ?? account;
      expect((await client.send('POST', '/preferences', { body })).status).toBeGreaterThanOrEqual(400);
    }
    const shown = await account.send('GET', '/preferences', { query: { key: 'default_algorithm' } });
    expect(shown.json).toEqual({ key: 'default_algorithm', value: 'full', is_default: true });
  });

  test('is anything else for every caller, and a preference of another name too', async () => {
    for (const algorithm of SAFE) {
      const setIt = (client: AccountClient) => set(client, 'default_algorithm', algorithm);
      expect(await outcomesOf(barred, setIt)).toEqual(all(barred, '200'));
    }
    expect(await outcomesOf(barred, (client) => remove(client, 'default_algorithm'))).toEqual(
      all(barred, '200'),
    );
    expect(await outcomesOf(barred, (client) => set(client, 'own', 'partial_8_end'))).toEqual(
      all(barred, '200'),
    );
  });

  test('holds for every caller once it is set', async () => {
    const { vault, account } = stage;
    const owner = await vault.account();
    await owner.key('u');
    const client = await credentialClient(vault.handle, owner, SCOPES);
    await set(owner, 'default_algorithm', 'partial_middle_6_4');
    const endpoint = await createCapture(client, 'u');
    expect(tokenOf(await capture(vault, endpoint, { body: CARD }))).toMatch(/^520474[0-9a-f]{6}0014$/);
    expect(account.name).not.toBe(owner.name);
  });
});

describe('the preference mask_fields', () => {
  test('is changed by callers alone who see data unmasked', async () => {
    const { vault, account, token } = stage;
    const expected = all(barred, `${REFUSED} body.key`);
    await set(account, 'mask_fields', ['card_holder']);
    for (const value of [[], ['note'], ['card_holder'], '']) {
      const change = (client: AccountClient) => set(client, 'mask_fields', value);
      expect(await outcomesOf(barred, change)).toEqual(expected);
    }
    const end = (client: AccountClient) => remove(client, 'mask_fields');
    expect(await outcomesOf(barred, end)).toEqual(all(barred, `${REFUSED} query.key`));
    const read = await retrieve(vault, await createRetrieve(account, 'u'), { query: { token } });
    expect(Object(read.json).card_holder).not.toBe(CARD.card_holder);
    const change = (client: AccountClient) => set(client, 'mask_fields', ['note']);
    expect(await outcomesOf(free, change)).toEqual(all(free, '200'));
    expect(await outcomesOf(free, end)).toEqual(all(free, '200'));
  });
});

describe('a fetch', () => {
  function fetch(query: Query, order: object = {}) {
    const { party, receiver } = stage;
    const request = requestTo(party.url('/card'), { method: 'GET', body: undefined });
    const body = { request, synchronous: true, webhook: receiver.webhook, ...order };
    return (client: AccountClient) => proxyGet(client, body, query);
  }

  test.each(['algorithm', 'tokenization_algorithm'])('is refused with %s before it is sent', async (name) => {
    const { party } = stage;
    party.script('/card', { headers: [['Content-Type', 'application/json']], body: JSON.stringify(CARD) });
    const sent = party.calls('/card').length;
    for (const algorithm of KEPT) {
      for (const synchronous of [true, false]) {
        const call = fetch({ [name]: algorithm }, { synchronous });
        expect(await outcomesOf(barred, call)).toEqual(all(barred, `${REFUSED} query.${name}`));
      }
    }
    expect(party.calls('/card').length).toBe(sent);
    expect(await outcomesOf(free, fetch({ [name]: 'partial_8_start' }))).toEqual(all(free, '200'));
    expect(await outcomesOf(barred, fetch({ [name]: 'luhn' }))).toEqual(all(barred, '200'));
  });

  test.each([
    ['full', '400 conflicting_parameters query.algorithm'],
    ['partial_8_end', `${REFUSED} query.algorithm`],
  ])('is refused where both names are sent, and one is %s', async (algorithm, refusal) => {
    const call = fetch({ algorithm, tokenization_algorithm: 'partial_8_end' });
    const outcomes = Object.values(await outcomesOf(barred, call));
    expect(new Set(outcomes)).toEqual(new Set([refusal]));
  });
});

describe('a capture endpoint', () => {
  test.each(KEPT)('is made with %s by callers alone who see data unmasked', async (algorithm) => {
    const call = (client: AccountClient) => make(client, { algorithm });
    expect(await outcomesOf(barred, call)).toEqual(all(barred, `${REFUSED} query.algorithm`));
    expect(await outcomesOf(free, call)).toEqual(all(free, '200'));
  });

  test('of a caller who may not see takes no capture with such an algorithm', async () => {
    const { vault } = stage;
    for (const client of Object.values(barred)) {
      for (const own of [{}, { algorithm: 'uuid' }, { smart_parse: true, return_card_metadata: true }]) {
        const endpoint = await createCapture(client, 'u', own);
        for (const algorithm of KEPT) {
          const answer = await capture(vault, endpoint, { body: CARD, query: { algorithm } });
          expect([answer.outcome, answer.field]).toEqual([REFUSED, 'query.algorithm']);
        }
        for (const algorithm of SAFE) {
          tokenOf(await capture(vault, endpoint, { body: CARD, query: { algorithm } }));
        }
      }
    }
  });

  test('of a caller who sees data takes it, also by a server that does not know it yet', async () => {
    const { vault } = stage;
    const other = await vault.secondServer();
    for (const client of Object.values(free)) {
      const endpoint = await createCapture(client, 'u');
      for (const server of [vault, other]) {
        const query = { algorithm: 'partial_middle_6_4' };
        expect(tokenOf(await capture(server, endpoint, { body: CARD, query }))).toMatch(
          /^520474[0-9a-f]{6}0014$/,
        );
      }
    }
    await other.close();
  });

  test('of an earlier version keeps its own algorithm, and takes no such other', async () => {
    const { vault, account } = stage;
    const endpoint = await earlier(account, 'partial_middle_6_4');
    const kept = await capture(vault, endpoint, { body: CARD });
    expect(tokenOf(kept)).toMatch(/^520474[0-9a-f]{6}0014$/);
    tokenOf(await capture(vault, endpoint, { body: CARD, query: { algorithm: 'luhn' } }));
    for (const algorithm of KEPT) {
      const answer = await capture(vault, endpoint, { body: CARD, query: { algorithm } });
      expect([answer.outcome, answer.field]).toEqual([REFUSED, 'query.algorithm']);
    }
  });
});

describe('a rule that cuts a number before it is stored', () => {
  const RULES = [
    { name: 'substr', input_field: 'card_number', output_field: 'cut', arguments: { start: 8 } },
    {
      ...{ name: 'format', input_field: '*', output_field: 'card_number' },
      arguments: { format_string: '%v00000000', keys: ['cut'] },
    },
  ];
  let unseeing: Readonly<Record<string, AccountClient>>;
  let seeing: Readonly<Record<string, AccountClient>>;

  beforeAll(async () => {
    const { 'a masked account': masked, ...others } = free;
    [unseeing, seeing] = [{ ...barred, ...(masked && { masked }) }, others];
    for (const owner of [stage.account, masked]) {
      await owner?.send('POST', '/rule', { query: { id: 'cut' }, body: RULES });
    }
  });

  test('cuts what its maker may see of a capture, whose metadata would tell the rest', async () => {
    const use = async (client: AccountClient) =>
      capture(stage.vault, await createCapture(client, 'u', { rules: 'cut', return_card_metadata: true }), {
        body: CARD,
      });
    expect(await outcomesOf(unseeing, use)).toEqual(all(unseeing, '400 number_missing'));
    for (const client of Object.values(seeing)) {
      expect((await use(client)).json).toMatchObject({ card_metadata: { bin: '09900014' } });
    }
  });

  test('cuts what its maker may see of an update through a capture endpoint', async () => {
    for (const [callers, cut] of [
      [unseeing, '****0014'],
      [seeing, '09900014'],
    ] as const) {
      for (const client of Object.values(callers)) {
        const owner = client.aid === stage.account.aid ? stage.account : (unseeing['masked'] ?? client);
        const reference = crypto.randomUUID();
        const { token } = await owner.sdk.vault.store({ user: 'u', reference, data: { ...CARD } });
        const endpoint = await createCapture(client, 'u', { token, reference, rules: 'cut' });
        tokenOf(await capture(stage.vault, endpoint, { body: CARD }));
        expect(JSON.parse(await owner.open('u', token, { reference })).cut).toBe(cut);
      }
    }
  });

  test('cuts what its caller may see of a fetch', async () => {
    const { party } = stage;
    party.script('/cut', { headers: [['Content-Type', 'application/json']], body: JSON.stringify(CARD) });
    const request = requestTo(party.url('/cut'), { method: 'GET', body: undefined });
    const use = (client: AccountClient) => proxyGet(client, { request, synchronous: true }, { rules: 'cut' });
    expect(await outcomesOf(unseeing, use)).toEqual(all(unseeing, '502 reply_not_storable'));
    expect(await outcomesOf(seeing, use)).toEqual(all(seeing, '200'));
  });

  test('cuts what its caller may see of an update', async () => {
    const { vault, account, token } = stage;
    for (const [scopes, cut] of [
      [['vault:update'], '****0014'],
      [['vault:update', 'vault:read'], '09900014'],
    ] as const) {
      const client = await credentialClient(vault.handle, account, scopes, { unmasked: true });
      const query = { user: 'u', token, rules: 'cut' };
      tokenOf(await client.send('POST', '/vault/update', { query, passphrase: PASSPHRASE, body: {} }));
      expect(JSON.parse(await account.open('u', token)).cut).toBe(cut);
    }
  });
});

/** An endpoint whose record does not say what its maker may decide. */
async function earlier({ name }: AccountClient, algorithm: string): Promise<MadeEndpoint> {
  const { accounts, endpoints } = stage.vault.opened.services;
  const account = await accounts.lookUp(name);
  if (account === undefined) {
    throw new Error('the account is there');
  }
  const ctx = actFor(
    createContext({ ip: '127.0.0.1', userAgent: '', requestId: 'r', source: 'vault' }),
    account,
  );
  const passphrase = new Secret(new TextEncoder().encode(PASSPHRASE));
  const made = await endpoints.create(ctx, 'capture', { user: 'u', passphrase, rules: [] }, { algorithm });
  return { ...made, secret: made.secret.expose() };
}
