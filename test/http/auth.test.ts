import { describe, expect, test } from 'bun:test';
import { ROUTES } from '../../server/boot/routes.ts';
import { VaultError } from '../../server/core/errors.ts';
import { createClientAddress } from '../../server/http/client-address.ts';
import { isOpen } from '../../server/http/cors.ts';
import { createClient, samplePath } from './client.ts';
import { AUTHORIZATION, createStubParts } from './stub-parts.ts';

function basic(text: string | Uint8Array) {
  return `Basic ${Buffer.from(text).toString('base64')}`;
}

describe('200', () => {
  test.each([AUTHORIZATION, AUTHORIZATION.replace('Basic', 'bASIC'), AUTHORIZATION.replace(' ', '  ')])(
    'Authorization: %s',
    async (authorization) => {
      expect((await createClient().send('GET', '/v1/whoami', { headers: { authorization } })).status).toBe(
        200,
      );
    },
  );

  test.each(['same-origin', 'none'])('Sec-Fetch-Site: %s', async (site) => {
    const headers = { 'Sec-Fetch-Site': site };
    expect((await createClient().send('GET', '/v1/whoami', { headers })).status).toBe(200);
  });

  test.each(['http://localhost', 'https://localhost', 'https://vault.test', 'https://vault.test:443'])(
    'Origin of the vault itself: %s',
    async (origin) => {
      expect((await createClient().send('GET', '/v1/whoami', { headers: { origin } })).status).toBe(200);
    },
  );

  test('Origin does not count beside Sec-Fetch-Site', async () => {
    const headers = { 'Sec-Fetch-Site': 'same-origin', Origin: 'https://elsewhere.test' };
    expect((await createClient().send('GET', '/v1/whoami', { headers })).status).toBe(200);
  });

  test('each answered request of an account is counted once, before its reply', async () => {
    const client = createClient();
    await client.send('GET', '/v1/whoami');
    expect(client.parts.metered).toEqual(['a1']);
    await client.send('GET', '/v1/luhn');
    expect(client.parts.metered).toHaveLength(1);
  });
});

describe('401', () => {
  const bad: readonly (readonly [string, string])[] = [
    ['no scheme', AUTHORIZATION.slice('Basic '.length)],
    ['another scheme', AUTHORIZATION.replace('Basic', 'Bearer')],
    ['no base64', 'Basic !!!!'],
    ['base64url', 'Basic _-_-'],
    ['something after it', `${AUTHORIZATION} x`],
    ['two', `${AUTHORIZATION}, ${AUTHORIZATION}`],
    ['empty', 'Basic '],
    ['no colon', basic('shop')],
    ['no name', basic(':pa:ss')],
    ['no UTF-8', basic(new Uint8Array([0x73, 0xff, 0x3a, 0x70]))],
    ['a wrong password', basic('shop:pa:ss ')],
    ['an unknown name', basic('Shop:pa:ss')],
  ];
  test.each(bad)('%s', async (_, authorization) => {
    const client = createClient();
    const answer = await client.send('GET', '/v1/whoami', { headers: { authorization } });
    expect(answer.status).toBe(401);
    expect(answer.error.code).toBe('unauthenticated');
    expect(answer.headers.get('WWW-Authenticate')).toBe('Basic realm="vault"');
    expect(client.parts.metered).toEqual([]);
  });

  const variants = (path: string) => {
    const last = path.slice(path.lastIndexOf('/') + 1);
    const encoded = `%${last.charCodeAt(0).toString(16)}${last.slice(1)}`;
    return [
      path,
      `${path}/`,
      `${path}//`,
      `/${path}`,
      path.replace('/v1/', '/v1//'),
      path.replace('/v1/', '/V1/'),
      path.toUpperCase(),
      `${path};x=1`,
      path.replace('/v1/', '/v1/%2e/'),
      path.replace('/v1/', '/v1/x/../'),
      path.replace(last, encoded),
      `${path}%2f`,
      `${path}?user=u1&token=t&number=1`,
    ];
  };
  const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'];
  test.each([...new Set(ROUTES.map((route) => route.path))])(
    'nothing at %s answers 2xx without credentials, however it is written, but preflights and public pages',
    async (path) => {
      const client = createClient();
      const open = ROUTES.filter((route) => route.path === path && isOpen(route));
      // In other letters `iframe` is the id of an endpoint, whose preflights are answered.
      const hasPreflight = open.length > 0 || path.endsWith('/iframe');
      const isPage = open.some(({ auth }) => auth === 'public');
      for (const method of methods) {
        for (const target of variants(samplePath(path))) {
          const { status } = await client.send(method, target, { headers: { authorization: '' } });
          const refused = method === 'OPTIONS' && hasPreflight ? [204, 404, 405] : [401, 403, 404, 405];
          const expected = isPage && ['GET', 'HEAD'].includes(method) ? [200, 404] : refused;
          expect(expected).toContain(status);
        }
      }
      expect(client.parts.asked).toEqual([]);
    },
  );
});

describe('403', () => {
  test.each(['cross-site', 'same-site'])('a browser on behalf of another site (%s)', async (site) => {
    const client = createClient();
    const answer = await client.send('GET', '/v1/whoami', { headers: { 'Sec-Fetch-Site': site } });
    expect(answer.status).toBe(403);
    expect(answer.error.code).toBe('not_allowed');
    expect(client.parts.asked).toEqual([]);
  });

  test.each([
    ...[
      'https://elsewhere.test',
      'http://localhost:81',
      'http://localhost.elsewhere.test',
      'ftp://localhost',
    ],
    ...['null', '', 'localhost', 'http://localhost, https://elsewhere.test'],
  ])('a browser without Sec-Fetch-Site on a page of %p', async (origin) => {
    const client = createClient();
    const answer = await client.send('GET', '/v1/whoami', { headers: { Origin: origin } });
    expect([answer.status, answer.error.code]).toEqual([403, 'not_allowed']);
    expect(client.parts.asked).toEqual([]);
  });

  test('no reply invites other origins', async () => {
    const headers = { Origin: 'https://elsewhere.test', 'Access-Control-Request-Method': 'GET' };
    for (const method of ['GET', 'OPTIONS']) {
      const answer = await createClient().send(method, '/v1/whoami', { headers });
      expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });
});

describe('429', () => {
  test('too many failures say when to come back', async () => {
    const { signIns } = createStubParts();
    const signIn = async () => {
      throw new VaultError('too_many_failures', { retryAfterSeconds: 1799.2 });
    };
    const client = createClient({ signIns: Object.assign(signIns, { signIn }) });
    const answer = await client.send('GET', '/v1/whoami');
    expect(answer.status).toBe(429);
    expect(answer.headers.get('Retry-After')).toBe('1800');
  });
});

describe('the address of the client', () => {
  const trusted = ['10.0.0.0/8', 'fd00::/8'];
  const cases: readonly (readonly [string, readonly string[], string, string | undefined, string])[] = [
    ['no trusted proxies', [], '10.0.0.1', '203.0.113.7', '10.0.0.1'],
    ['an untrusted peer', trusted, '192.0.2.1', '203.0.113.7', '192.0.2.1'],
    ['a trusted peer', trusted, '10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['spoofed on the left', trusted, '10.0.0.1', '1.1.1.1, 203.0.113.7', '203.0.113.7'],
    ['two trusted proxies', trusted, '10.0.0.1', '203.0.113.7,10.0.0.2', '203.0.113.7'],
    ['all of them trusted', trusted, '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['with a port', trusted, '10.0.0.1', '203.0.113.7:4711', '203.0.113.7'],
    ['IPv6 with a port', trusted, 'fd00::1', '[2001:db8::7]:4711', '2001:db8::7'],
    ['IPv4 in IPv6 form', trusted, '::ffff:10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['IPv4 in IPv6 form, untrusted', [], '::ffff:192.0.2.1', undefined, '192.0.2.1'],
    ['no header', trusted, '10.0.0.1', undefined, '10.0.0.1'],
    ['no address', trusted, '10.0.0.1', '203.0.113.7, unknown', '10.0.0.1'],
    ['an odd form of IPv4', trusted, '10.0.0.1', '0x7f.1', '10.0.0.1'],
    ['empty', trusted, '10.0.0.1', '', '10.0.0.1'],
  ];
  test.each(cases)('%s', (_, cidrs, socket, forwarded, expected) => {
    const headers = new Headers(forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded });
    expect(createClientAddress(cidrs)(socket, headers)).toBe(expected);
  });
});
