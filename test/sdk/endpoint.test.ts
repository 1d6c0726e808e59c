import { describe, expect, test } from 'bun:test';
import {
  captureClient,
  type EndpointOptions,
  retrieveClient,
  Vault,
  VaultApiError,
  VaultConnectionError,
  VaultError,
} from '../../sdk/index.ts';
import { type Answer, closingAfterEach, failureOf, json, openPeer, refusal } from './peer.ts';
import { CANARY_NUMBER, SECRETS } from './wires.ts';

const BASE = 'http://127.0.0.1:1';
const CAPTURE_URL = `${BASE}/v1/capture/a`;
const RETRIEVE_URL = `${BASE}/v1/retrieve/a`;
const data = { card_number: CANARY_NUMBER };

const keep = closingAfterEach();

function openTo(...answers: Answer[]) {
  const peer = keep(openPeer(...answers));
  return peer;
}

/** A fetch that sends nothing and notes with which settings it was called. */
function noting() {
  const inits: RequestInit[] = [];
  const fetch = async (_: string, init: RequestInit): Promise<Response> => {
    inits.push(init);
    return Response.json({});
  };
  return { inits, fetch };
}

describe('an endpoint that cannot be right is refused before anything is sent', () => {
  const { capture: secret } = SECRETS;
  const wrong: Readonly<Record<string, EndpointOptions>> = {
    'a URL without a scheme': { url: 'vault.example/v1/capture/a', secret },
    'a path without a host': { url: '/v1/capture/a', secret },
    'a URL with a query': { url: 'https://vault.example/v1/capture/a?secret=s', secret },
    'a URL of the other kind': { url: 'https://vault.example/v1/retrieve/a', secret },
    'a URL with credentials': { url: 'https://u:p@vault.example/v1/capture/a', secret },
    'no secret': { url: CAPTURE_URL, secret: '' },
    'a secret with a line break': { url: CAPTURE_URL, secret: `${secret}\n` },
    'a secret beyond Latin letters': { url: CAPTURE_URL, secret: `${secret}‐` },
  };

  test.each(Object.entries(wrong))('%s', (_, options) => {
    const make = () => captureClient(options);
    expect(make).toThrow(VaultError);
    expect(make).not.toThrow(/canary/);
  });

  const client = new Vault({ baseUrl: BASE, username: 'shop', password: 'p' });
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    'an id that leads elsewhere': () => client.capture.submit({ unique_id: '..', secret, data }),
    'a whole URL': () => client.capture.submit({ url: 'https://elsewhere.test/v1/capture/a', secret, data }),
    'a path of the other kind': () => client.capture.submit({ url: '/v1/retrieve/a', secret, data }),
    'a secret that no header carries': () =>
      client.capture.submit({ unique_id: 'a', secret: 'canary ü', data }),
    'reading by a wrong path': () => client.retrieve.decrypt({ url: '/v1/vault', secret, token: 't' }),
    'listing by a wrong path': () => client.retrieve.listItems({ url: '/v1/capture/a', secret }),
  };

  test.each(Object.entries(calls))('%s, of a client', async (_, call) => {
    const error = await failureOf(call);
    expect(error).toMatchObject({ name: 'VaultError' });
    expect(Bun.inspect(error)).not.toContain('canary');
  });
});

describe('a request to an endpoint', () => {
  test.each(['http://127.0.0.1', 'https://vault.example', 'https://shop.example/behind/a/proxy'])(
    'goes to its own address under %s',
    async (base) => {
      const urls: string[] = [];
      const fetch = async (url: string): Promise<Response> => {
        urls.push(url);
        return Response.json({});
      };
      await captureClient({ url: `${base}/v1/capture/shop`, secret: SECRETS.capture, fetch }).submit({
        data,
      });
      await retrieveClient({ url: `${base}/v1/retrieve/desk`, secret: SECRETS.retrieve, fetch }).list();
      expect(urls).toEqual([`${base}/v1/capture/shop`, `${base}/v1/retrieve/desk`]);
    },
  );

  test('asks for no credentials, and only such a request speaks of them', async () => {
    const { inits, fetch } = noting();
    const client = new Vault({ baseUrl: BASE, username: 'shop', password: 'p', passphrase: 'q', fetch });
    await client.capture.create({ user: 'shop' });
    await client.capture.submit({ unique_id: 'a', secret: SECRETS.capture, data });
    await captureClient({ url: CAPTURE_URL, secret: SECRETS.capture, fetch }).submit({ data });
    await retrieveClient({ url: RETRIEVE_URL, secret: SECRETS.retrieve, fetch }).list();
    expect(inits.map(({ credentials }) => credentials)).toEqual([undefined, 'omit', 'omit', 'omit']);
    for (const { headers } of inits.slice(1)) {
      expect(Object.keys(Object(headers))).not.toContain('Authorization');
    }
  });

  test('says nothing of credentials where the runtime knows none', async () => {
    const { inits, fetch } = noting();
    const known = globalThis.Request;
    const desk = retrieveClient({ url: RETRIEVE_URL, secret: SECRETS.retrieve, fetch });
    try {
      Object.assign(globalThis, { Request: class {} });
      await desk.list();
    } finally {
      globalThis.Request = known;
    }
    expect(Object.keys(inits[0] ?? {})).not.toContain('credentials');
  });

  test('keeps the secret and the data out of every error', async () => {
    const peer = openTo(
      refusal(
        403,
        SECRETS.capture,
        { 'X-Request-Id': SECRETS.capture },
        { field: `query.${SECRETS.capture}` },
      ),
      () => new Response(`{"token":"${CANARY_NUMBER}`),
    );
    const checkout = captureClient({
      url: `${peer.baseUrl}/v1/capture/shop`,
      secret: SECRETS.capture,
      retries: 0,
    });
    const refused = await failureOf(() => checkout.submit({ data }));
    const unread = await failureOf(() => checkout.submit({ data }));
    await peer.close();
    const unreached = await failureOf(() => checkout.submit({ data }));
    expect(refused).toBeInstanceOf(VaultApiError);
    expect(unread).toBeInstanceOf(VaultConnectionError);
    expect(unreached).toBeInstanceOf(VaultConnectionError);
    for (const error of [refused, unread, unreached]) {
      expect(`${Bun.inspect(error, { depth: 9 })} ${JSON.stringify(error)}`).not.toMatch(
        /canary|4000000000000002/,
      );
    }
  });
});

describe('creating an endpoint or a rule', () => {
  const creations: Readonly<Record<string, (client: Vault) => Promise<unknown>>> = {
    'a capture endpoint': ({ capture }) => capture.create({ user: 'shop' }),
    'a retrieval endpoint': ({ retrieve }) => retrieve.create({ user: 'shop' }),
    'a rule': ({ rules }) => rules.create({ id: 'r', operations: [{ name: 'noop' }] }),
  };
  const clientOf = ({ baseUrl }: { readonly baseUrl: string }): Vault =>
    new Vault({ baseUrl, username: 'shop', password: 'p', passphrase: 'q', retries: 1 });

  test.each(Object.entries(creations))('%s is repeated where nothing was done', async (_, create) => {
    const peer = openTo(refusal(503, 'overloaded', { 'Retry-After': '0' }), json({}));
    await create(clientOf(peer));
    expect(peer.seen).toHaveLength(2);
  });

  test.each(Object.entries(creations))('%s is not repeated where it may have happened', async (_, create) => {
    const peer = openTo(refusal(503, 'store_unavailable', { 'Retry-After': '0' }));
    expect(await failureOf(() => create(clientOf(peer)))).toMatchObject({ code: 'store_unavailable' });
    expect(peer.seen).toHaveLength(1);
  });
});
