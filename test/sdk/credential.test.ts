/** A client with an API credential in place of name and password, and the errors of one that lacks a scope. */
import { describe, expect, test } from 'bun:test';
import { inspect } from 'node:util';
import { Vault, VaultApiError, VaultError } from '../../sdk/index.ts';
import { apiErrorOf } from '../../sdk/transport/errors.ts';
import { OPERATOR } from '../../server/account/credential/records.ts';
import { outsideScope } from '../../server/request/permission.ts';
import { type Answer, closingAfterEach, failureOf, json, openPeer, refusal } from './peer.ts';

const SECRET = `vak1_${'c4nary'.repeat(7)}A`;
const BASE = 'https://vault.example/v1';
const REFUSAL = { error: 'No.', code: 'not_allowed', field: 'scope', request_id: 'r-1' };

const keep = closingAfterEach();

function clientOf(...answers: Answer[]) {
  const peer = keep(openPeer(...answers));
  return { peer, client: new Vault({ baseUrl: peer.baseUrl, credential: SECRET, retries: 0 }) };
}

describe('a client with a credential', () => {
  test('sends it as a bearer, and nowhere else', async () => {
    const { peer, client } = clientOf(json({}));
    await client.admin.whoami();
    const [sent] = peer.seen;
    expect(sent?.headers.get('authorization')).toBe(`Bearer ${SECRET}`);
    const others = [...(sent?.headers ?? [])].filter(([name]) => name !== 'authorization');
    expect(`${sent?.url.href} ${JSON.stringify(others)} ${sent?.body}`).not.toContain('vak1_');
  });

  test('shows it neither when it is printed, nor in its errors', async () => {
    const { client } = clientOf(refusal(401, 'unauthenticated'));
    const error = await failureOf(() => client.admin.whoami());
    for (const shown of [client, error]) {
      const texts = [Bun.inspect(shown, { depth: 9 }), inspect(shown, { depth: 9, showHidden: true })];
      expect(`${texts} ${JSON.stringify(shown)} ${String(shown)}`).not.toContain('c4nary');
    }
  });

  test.each([
    ['a name beside it', { username: 'shop' }],
    ['a password beside it', { password: 'c4nary' }],
    ['both beside it', { username: 'shop', password: 'c4nary' }],
    ['an id in its place', { credential: 'cred_c4naryc4naryc4naryc4na' }],
    ['a secret with a line break', { credential: `${SECRET}\n` }],
    ['a secret of an endpoint', { credential: 'vcs1_c4nary' }],
    ['an empty text', { credential: '' }],
    ['a number', { credential: 1 }],
    ['null', { credential: null }],
    ['nothing at all', { credential: undefined }],
  ])('is not made with %s', async (_, options) => {
    const given = { baseUrl: 'http://127.0.0.1:1', credential: SECRET, ...options };
    const error = await failureOf(() => new Vault(given as never));
    expect(error).toBeInstanceOf(VaultError);
    expect(inspect(error)).toMatch(/credential|username and password/);
    expect(inspect(error)).not.toContain('c4nary');
  });
});

describe('the error of a credential that lacks something', () => {
  test('names the scope as the server names it', async () => {
    const challenge = `Bearer error="insufficient_scope", scope="${outsideScope(OPERATOR, 'this', 'vault:read').scope}"`;
    const { client } = clientOf(
      refusal(403, 'not_allowed', { 'WWW-Authenticate': challenge }, { field: 'scope' }),
    );
    const error = await failureOf(() => client.keys.list());
    expect(error).toBeInstanceOf(VaultApiError);
    expect(error).toMatchObject({ code: 'not_allowed', field: 'scope', scope: 'vault:read' });
    expect(String(error)).toContain('not_allowed at scope vault:read');
  });

  test('has no scope where a limit of keys, hosts or addresses is the reason', () => {
    const error = apiErrorOf(403, new Headers(), JSON.stringify(REFUSAL), BASE);
    expect([error.field, error.scope]).toEqual(['scope', undefined]);
  });

  test.each([
    'Basic realm="vault"',
    'Bearer error="insufficient_scope", scope="vak1_c4nary"',
    `Bearer error="insufficient_scope", scope="${SECRET}"`,
    'Bearer error="insufficient_scope", scope="a:b", note="c4nary"',
  ])('takes nothing over from the challenge %s', (challenge) => {
    const error = apiErrorOf(
      403,
      new Headers({ 'WWW-Authenticate': challenge }),
      JSON.stringify(REFUSAL),
      BASE,
    );
    expect(error.scope).toBeUndefined();
    expect(inspect(error)).not.toContain('c4nary');
  });
});
