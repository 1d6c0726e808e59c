import { describe, expect, test } from 'bun:test';
import { Vault, VaultError, vaultPlaceholder } from '../../sdk/index.ts';
import { openPeer } from './peer.ts';

async function sent(act: (client: Vault) => Promise<Response>) {
  const peer = openPeer(() => Response.json({ id: 'ch_1' }, { status: 402 }));
  try {
    const client = new Vault({
      baseUrl: peer.baseUrl,
      username: 'shop',
      password: 'p',
      passphrase: 'pass phrase',
    });
    const response = await act(client);
    return { response, request: peer.seen[0], calls: peer.seen.length };
  } finally {
    await peer.close();
  }
}

describe('a relay', () => {
  test('sends once what fetch is given, with its own headers beside', async () => {
    const { request, response, calls } = await sent((client) =>
      client.relay('psp', { user: 'shop' }).fetch('/v1/charges', {
        method: 'POST',
        headers: { 'content-type': 'text/plain', authorization: 'Bearer theirs', 'Idempotency-Key': 'k' },
        body: 'a=1',
      }),
    );
    expect([response.status, await response.json(), calls]).toEqual([402, { id: 'ch_1' }, 1]);
    expect([request?.method, request?.url.pathname, request?.body]).toEqual([
      'POST',
      '/v1/relay/psp/v1/charges',
      'a=1',
    ]);
    const { headers } = request ?? { headers: new Headers() };
    expect(headers.get('authorization')).toStartWith('Basic ');
    expect(headers.get('x-vault-user')).toBe('shop');
    expect(headers.get('x-vault-passphrase')).toBe('pass%20phrase');
    expect(headers.get('content-type')).toBe('text/plain');
    expect(headers.get('idempotency-key')).toBe('k');
  });

  test('takes the whole URLs and requests of a payment service’s own SDK', async () => {
    for (const target of [
      'https://api.psp.example/v1/charges?a=1',
      new URL('https://api.psp.example/v1/charges?a=1'),
      new Request('https://api.psp.example/v1/charges?a=1', {
        method: 'PUT',
        body: 'x',
        headers: { 'x-own': '1' },
      }),
    ]) {
      const { request } = await sent((client) => client.relay('psp', { user: 'shop' }).fetch(target));
      expect(`${request?.url.pathname}${request?.url.search}`).toBe('/v1/relay/psp/v1/charges?a=1');
      expect([request?.method, request?.body, request?.headers.get('x-own')]).toEqual(
        target instanceof Request ? ['PUT', 'x', '1'] : ['GET', '', null],
      );
    }
  });

  test('says where HTTP clients that send by themselves must send to', () => {
    const client = new Vault({ baseUrl: 'https://vault.example/', username: 'shop', password: 'p' });
    const { baseUrl, headers } = client.relay('psp', { user: 'shop', passphrase: 'p' });
    expect(baseUrl).toBe('https://vault.example/v1/relay/psp');
    expect(headers).toEqual({
      ...{ Authorization: `Basic ${btoa('shop:p')}`, 'X-Vault-User': 'shop', 'X-Vault-Passphrase': 'p' },
    });
    expect(() => client.relay('')).toThrow(VaultError);
  });
});

test('placeholders have their parts percent-encoded', () => {
  expect(vaultPlaceholder('t', 'card_number')).toBe('{{vault:t:card_number}}');
  expect(vaultPlaceholder('t:1', 'a.b', 'o/1 }}')).toBe('{{vault:t%3A1:a.b:o%2F1%20%7D%7D}}');
  expect(() => vaultPlaceholder('t', '')).toThrow(VaultError);
  expect(() => vaultPlaceholder('t', 'x', '')).toThrow(VaultError);
});
