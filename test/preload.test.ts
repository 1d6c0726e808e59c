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
    ['tls', () => connectTls({ host: '192.0.2.1', port: 443 })],
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
