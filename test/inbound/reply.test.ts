/** Cards of replies to relayed requests, which are stored by the rules of an inbound. */
import { describe, expect, test } from 'bun:test';
import type { Scope } from '../../server/core/scopes.ts';
import type { AccountClient, Answer } from '../helpers/clients.ts';
import { credentialClient } from '../helpers/credentials.ts';
import { connectInbound, newInbound } from '../helpers/inbound.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { connect, placeholder, type RelayChanges, relay } from '../helpers/relay.ts';
import type { PartyReply } from '../helpers/third-party.ts';

const setting = await openProxySetting();
const { vault, party, item, freshPath } = setting;
const { account } = item;
const portal = await connectInbound(account, party, {
  headers: [{ 'X-Key': 'sk_canary_0123' }],
  reply: ['b[*].n', 'b[*].id'],
});
const EXTRACT = [{ number: 'b[*].n', code: 'b[*].c', reference: 'b[*].id' }];
const bookings = await newInbound(account, { connection: portal, extract: EXTRACT });
const NUMBERS = ['4111111111111111', '5555555555554444'];
const BODY = `{ "b": [ {"id":"b1","n":"${NUMBERS[0]}","c":"123"}, {"id":"b2","n":"${NUMBERS[1]}"} ] , "sum":1.10 }`;

function jsonReply(body: string | Uint8Array, more: Partial<PartyReply> = {}): PartyReply {
  return { headers: [['Content-Type', 'application/json']], body, ...more };
}
async function pull(
  reply: PartyReply,
  {
    headers,
    ...changes
  }: RelayChanges & { readonly client?: AccountClient; readonly connection?: string } = {},
): Promise<Answer> {
  const { client = account, connection = portal, ...rest } = changes;
  return relay(client, connection, freshPath(reply), {
    method: 'GET',
    headers: { 'x-vault-inbound': bookings.id, ...headers },
    ...rest,
  });
}
const using = (scopes: readonly Scope[], unmasked = false): Promise<AccountClient> =>
  credentialClient(vault.handle, account, scopes, { unmasked });
function tokensIn(text: string): string[] {
  return [...text.matchAll(/[0-9a-f]{64}/g)].map(([token]) => token);
}

describe('a reply', () => {
  test('comes with tokens, and nothing else is changed', async () => {
    const answer = await pull(jsonReply(BODY));
    expect([answer.status, answer.headers.get('x-vault-stored')]).toEqual([200, '2']);
    const [first = '', second = ''] = tokensIn(answer.text);
    expect(answer.text).toBe(
      BODY.replace(NUMBERS[0] ?? '', first)
        .replace(NUMBERS[1] ?? '', second)
        .replace('123', '***'),
    );
    expect(JSON.parse(await account.open('u', first, { reference: 'b1' }))).toEqual({
      card_number: NUMBERS[0],
      cvv: '123',
    });
    const log = await account.send('GET', '/vault/metadata', {
      query: { user: 'u', token: second, reference: 'b2' },
    });
    expect(log.json).toMatchObject([{ action: 'encrypt', source: 'inbound', endpoint: bookings.id }]);
  });

  test('in a coding comes decoded', async () => {
    const body = Bun.gzipSync(Buffer.from(BODY));
    const headers = [
      ['Content-Type', 'application/json'],
      ['Content-Encoding', 'gzip'],
    ] as const;
    const answer = await pull({ headers, body }, { headers: { 'accept-encoding': 'gzip' } });
    expect(answer.headers.get('x-vault-stored')).toBe('2');
    expect(answer.text).not.toContain(NUMBERS[0] ?? '');
  });

  test('without cards, or empty, passes', async () => {
    for (const body of ['', '{"b":[]}', '{"b":[{"n":"************1111"}]}']) {
      const answer = await pull(jsonReply(body));
      expect([answer.status, answer.text, answer.headers.get('x-vault-stored')]).toEqual([200, body, '0']);
    }
    const page = await pull({ headers: [['Content-Type', 'text/html']], body: '<h1>none</h1>', status: 404 });
    expect([page.status, page.text]).toEqual([404, '<h1>none</h1>']);
  });

  test.each([
    ['a card elsewhere', jsonReply(`{"x":"${NUMBERS[0]}"}`)],
    ['a member twice', jsonReply(`{"b":[{"n":"${NUMBERS[0]}","n":"${NUMBERS[1]}"}]}`)],
    ['another format', { headers: [['Content-Type', 'text/csv']], body: `a,${NUMBERS[0]}` } as const],
    ['no format', { headers: [], body: `pan ${NUMBERS[0]}` }],
    ['a reference that is a card', jsonReply(`{"b":[{"n":"${NUMBERS[0]}","id":"${NUMBERS[1]}"}]}`)],
  ])('with %s is not shown', async (_, reply) => {
    const answer = await pull(reply);
    expect(answer.outcome).toBe('502 reply_not_storable');
    expect(answer.text).not.toMatch(/4111|5555/);
  });

  test('shows no value of the connection', async () => {
    const answer = await pull(jsonReply(`{"b":[],"key":"sk_canary_0123"}`));
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain('canary');
  });

  test('to a request with placeholders has neither number', async () => {
    const { token } = item;
    const path = freshPath((request) =>
      jsonReply(`{"b":[{"id":"x","n":"${NUMBERS[1]}"}],"sent":${request.text}}`),
    );
    const answer = await relay(account, portal, path, {
      headers: {
        'x-vault-inbound': (
          await newInbound(account, { connection: portal, extract: EXTRACT, strict: false })
        ).id,
      },
      body: `{"pan":"${placeholder(token, 'card_number')}"}`,
    });
    expect(answer.status).toBe(200);
    expect(answer.text).toContain(placeholder(token, 'card_number'));
    expect(answer.text).not.toMatch(/4111111111111111|5555/);
  });
});

describe('its caller', () => {
  const place = ({ outcome, field }: Answer): string => `${outcome} ${field}`;

  test('needs the scope for fetched cards', async () => {
    const client = await using(['proxy:send', 'vault:read'], true);
    expect(place(await pull(jsonReply(BODY), { client }))).toBe('403 not_allowed scope');
    const fetcher = await using(['proxy:send', 'proxy:fetch', 'vault:read'], true);
    expect((await pull(jsonReply(BODY), { client: fetcher })).headers.get('x-vault-stored')).toBe('2');
  });

  test('that may not read sees what the connection names, in tokens, and how many', async () => {
    const client = await using(['proxy:send', 'proxy:fetch']);
    const answer = await pull(jsonReply(BODY), { client });
    expect(answer.headers.get('x-vault-withheld')).toBe('true');
    expect(answer.headers.get('x-vault-stored')).toBe('2');
    expect(answer.text.replaceAll(/[0-9a-f]{64}/g, 'T')).toBe(
      '{"b":[{"id":"b1","n":"T"},{"id":"b2","n":"T"}]}',
    );
  });

  test('who sees numbers masked gets tokens whole, even those that look like numbers', async () => {
    const { id } = await newInbound(account, {
      ...{ connection: portal, extract: EXTRACT, algorithm: 'luhn', strict: false },
    });
    const sum = '4000000000000002';
    const headers = { 'x-vault-inbound': id };
    const body = `{"b":[{"id":"L1","n":"${NUMBERS[0]}"},{"id":"L2","n":"${NUMBERS[1]}"}],"sum":"${sum}"}`;
    for (const scopes of [
      ['proxy:send', 'proxy:fetch', 'vault:read'],
      ['proxy:send', 'proxy:fetch'],
    ] as const) {
      const answer = await pull(jsonReply(body), { client: await using(scopes), headers });
      const tokens = [...answer.text.matchAll(/"n":"(9\d{15})"/g)].map(([, token = '']) => token);
      expect(tokens).toHaveLength(2);
      expect(answer.text).not.toContain(sum);
      for (const [at, token] of tokens.entries()) {
        const card = await account.open('u', token, { reference: `L${at + 1}` });
        expect(JSON.parse(card)['card_number'].slice(-4)).toBe(NUMBERS[at]?.slice(-4));
      }
    }
  });

  test('names an inbound of the connection and the key that can be used', async () => {
    const calls = party.connections();
    const other = await connectInbound(account, party);
    const elsewhere = await newInbound(account, { connection: other });
    await account.key('v');
    const ofKey = await newInbound(account, { connection: portal, user: 'v' });
    const gone = await newInbound(account, { connection: portal });
    await account.send('DELETE', `/inbound/${gone.id}`);
    const theirs = await vault.account();
    await theirs.key('u');
    const foreign = await newInbound(theirs, { connection: await connectInbound(theirs, party) });
    const wrong = '400 invalid_request header.X-Vault-Inbound';
    for (const id of ['', 'none', elsewhere.id, ofKey.id, gone.id, foreign.id]) {
      expect(place(await pull(jsonReply(BODY), { headers: { 'x-vault-inbound': id } }))).toBe(wrong);
    }
    const closed = await connect(account, party);
    expect(place(await pull(jsonReply(BODY), { connection: closed }))).toBe(wrong);
    expect(party.connections()).toBe(calls);
  });
});
