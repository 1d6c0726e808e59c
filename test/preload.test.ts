import { describe, expect, test } from 'bun:test';
import { request } from 'node:http';
import { request as requestTls } from 'node:https';
import { connect, type LookupFunction } from 'node:net';
import { connect as connectTls } from 'node:tls';

function lookupTo(address: string): LookupFunction {
  return (_host, options, callback) =>
    options.all === true ? callback(null, [{ address, family: 4 }]) : callback(null, address, 4);
}

describe('tests cannot leave this machine', () => {
  const attempts: ReadonlyArray<readonly [string, () => unknown]> = [
    ['net by address', () => connect(80, '192.0.2.1')],
    ['net by name', () => connect({ host: 'example.com', port: 80 })],
    ['net by IPv6', () => connect({ host: '2001:db8::1', port: 80 })],
    ['tls', () => connectTls({ host: '192.0.2.1', port: 443 })],
    ['http', () => request({ host: '192.0.2.1', port: 80, agent: false })],
    ['https by URL', () => requestTls('https://example.com/')],
  ];
  test.each(attempts)('%s', (_name, attempt) => expect(attempt).toThrow(/Tests may not reach/));

  test('a name that is resolved to an address elsewhere', async () => {
    const error = await new Promise((resolve) => {
      const options = {
        host: 'hook.example',
        port: 80,
        agent: false,
        lookup: lookupTo('192.0.2.1'),
      } as const;
      request(options).on('error', resolve).end();
    });
    expect(String(error)).toContain('Tests may not reach 192.0.2.1');
  });

  test('fetch', async () => {
    await expect(fetch('https://example.com/')).rejects.toThrow('Tests may not reach example.com');
    await expect(fetch(new Request('http://192.0.2.1/'))).rejects.toThrow('Tests may not reach 192.0.2.1');
  });
});

describe('tests can reach this machine', () => {
  test('by address, name, fetch, and a name that they resolve themselves', async () => {
    const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('here') });
    const { port } = server;
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('here');
    expect(await (await fetch(new URL(`http://localhost:${port}/`))).text()).toBe('here');
    const status = await new Promise((resolve, reject) => {
      const options = { host: 'hook.example', port, agent: false, lookup: lookupTo('127.0.0.1') } as const;
      request(options, (reply) => resolve(reply.statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(200);
    await server.stop(true);
  });
});
