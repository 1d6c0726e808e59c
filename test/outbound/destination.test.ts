import { describe, expect, test } from 'bun:test';
import { PROXY_METHODS } from '../../server/core/third-party.ts';
import { createAddressPolicy } from '../../server/outbound/addresses.ts';
import type { OutboundFailure } from '../../server/outbound/call.ts';
import {
  checkDestination,
  type Destination,
  type DestinationFault,
} from '../../server/outbound/destination.ts';
import { createOutbound } from '../../server/outbound/https.ts';
import {
  type ProxiedRequest,
  type RelayedRequest,
  ThirdParties,
  type WebhookRequest,
} from '../../server/outbound/third-parties.ts';
import { startListener, stopTargets } from './target.ts';

const policy = createAddressPolicy({ allow: [] });
function take(url: string, hosts?: readonly string[]): Destination {
  const destination = checkDestination(url, { policy, hosts });
  if (typeof destination === 'string') {
    throw new TypeError(`${url} was refused: ${destination}`);
  }
  return destination;
}

function faultOf(url: string, hosts?: readonly string[]): DestinationFault {
  const fault = checkDestination(url, { policy, hosts });
  if (typeof fault !== 'string') {
    throw new TypeError(`${url} was not refused`);
  }
  return fault;
}

/** `PORT` is where a listener waits that must never hear of any of them. */
const REFUSED = [
  ...`http://127.0.0.1:PORT/ http://example.com/ HTTP://example.com/ ftp://127.0.0.1:PORT/ file:///etc/passwd
  gopher://127.0.0.1:PORT/ data:text/plain,a javascript:1 ws://127.0.0.1:PORT/ wss://example.com/ unix:/run/a.sock
  https: https:// https:/// https:example.com https:/example.com https:///example.com https:\\\\example.com
  https:/\\example.com //example.com example.com 127.0.0.1:PORT https://127.0.0.1:PORT/ https://127.1:PORT/
  https://127.0.1:PORT/ https://0177.0.0.1:PORT/ https://0x7f.0.0.1:PORT/ https://0x7f000001:PORT/
  https://2130706433:PORT/ https://017700000001:PORT/ https://127.0.0.1.:PORT/ https://127.255.255.254:PORT/
  https://0:PORT/ https://0.0.0.0:PORT/ https://0x0:PORT/ https://[::]:PORT/ https://[::1]:PORT/
  https://[0:0:0:0:0:0:0:1]:PORT/ https://[::ffff:127.0.0.1]:PORT/ https://[::ffff:7f00:1]:PORT/
  https://[::127.0.0.1]:PORT/ https://[64:ff9b::127.0.0.1]:PORT/ https://[2002:7f00:1::]:PORT/
  https://[fe80::1%25lo]:PORT/ https://[::1%25lo]:PORT/ https://[fd00:ec2::254]/ https://[::1:PORT/ https://::1:PORT/
  https://①②⑦.⓪.⓪.①:PORT/ https://１２７.0.0.1:PORT/ https://127。0。0。1:PORT/ https://127%2e0%2e0%2e1:PORT/
  https://%31%32%37.0.0.1:PORT/ https://10.0.0.1:PORT/ https://192.168.0.1/ https://172.16.0.1/ https://100.64.0.1/
  https://169.254.169.254/latest/meta-data/ https://0xa9fea9fe/ https://2852039166/ https://169.254.43518/
  https://user@127.0.0.1:PORT/ https://user:pw@example.com/ https://@example.com/ https://:@example.com/
  https://example.com@127.0.0.1:PORT/ https://127.0.0.1:PORT@example.com/ https://example.com%40127.0.0.1:PORT/
  https://example.com\\@127.0.0.1:PORT/ https://example.com\\.127.0.0.1/ https://example.com:0/
  https://example.com:65536/ https://example.com:-1/ https://example.com:+443/ https://example.com:a/
  https://example.com./ https://.example.com/ https://example..com/ https://./ https://-a.example/
  https://a.-b.example/ https://exam*ple.com/ https://exam'ple.com/ https://exam!ple.com/ https://ex%00ample.com/
  https://ex%0aample.com/ https://ex%20ample.com/ https://xn--a/ https://1.2.3.256/ https://1.2.3.4.5/ https://08.1/
  https://224.0.0.1/ https://255.255.255.255/ https://198.18.0.1/ https://[ff02::1]/ https://[2001:db8::1]/`.split(
    /\s+/,
  ),
  '',
  ' https://example.com/',
  'https://example.com/ ',
  'https://example.com/a b',
  'https://example.com/\t',
  'https://exam\nple.com/',
  'ht\ntps://127.0.0.1:PORT/',
  'https://example.com/\r\nHost: a',
  'https://example.com/\0',
  'https://example.com/\u0085',
  'https://example.com/\ud800',
  `https://${'a'.repeat(64)}.example/`,
  `https://${'a.'.repeat(130)}example/`,
  `https://example.com/${'a'.repeat(8192)}`,
];

test('every refused URL is refused', () => {
  expect(REFUSED.length).toBeGreaterThan(100);
  for (const url of REFUSED) {
    expect([url, faultOf(url.replaceAll('PORT', '443'))]).toEqual([
      url,
      expect.stringMatching(/^(?:url|address)$/),
    ]);
  }
});

describe('a caller learns what is wrong', () => {
  const thirdParties = new ThirdParties({ policy, resolve: async () => ['10.0.0.1'] });
  const ofUrl = 'must be an https URL without a user name';
  const ofAddress = 'must have a public address, or one that the operator allows in `VAULT_PROXY_ALLOW`';
  test.each([
    ['http://pay.example/', ofUrl],
    ['https://user@pay.example/', ofUrl],
    ['https://pay*.example/', ofUrl],
    ['https://127.0.0.1/', ofAddress],
    ['https://localhost/', ofAddress],
    ['https://private.pay.example/', ofAddress],
    ['https://example.com/', 'must have a host that the account may send data to'],
  ])('%s', async (url, expected) => {
    const hosts = ['pay.example', '*.pay.example', 'pay*.example', '127.0.0.1', 'localhost'];
    const details = { code: 'destination_refused', field: 'body.url', expected };
    expect(await thirdParties.vet(url, hosts, 'body.url').catch((error: unknown) => error)).toMatchObject(
      details,
    );
  });
});

test('none of them is dialled or asked for, whatever the method', async () => {
  const v4 = await startListener();
  const v6 = await startListener(undefined, '::1', v4.port);
  let asked = 0;
  const resolve = async () => {
    asked += 1;
    return ['127.0.0.1'];
  };
  const { send } = createOutbound({ policy, resolve });
  for (const [index, url] of REFUSED.entries()) {
    const method = PROXY_METHODS[index % PROXY_METHODS.length] ?? 'GET';
    const at = url.replaceAll('PORT', String(v4.port));
    const call = { owner: 'account', method, url: at, headers: [], deadlineMs: 1000 };
    expect(await send(call)).toMatchObject({ ok: false, code: 'destination_refused', sent: false });
  }
  expect([v4.connections(), v6.connections(), asked]).toEqual([0, 0, 0]);
  stopTargets();
});

describe('what a URL is taken apart into', () => {
  test.each([
    ['https://example.com', 'example.com', 443, 'example.com', '/'],
    ['HTTPS://EXAMPLE.com:443/a', 'example.com', 443, 'example.com', '/a'],
    ['https://example.com:8443/a/../b?c=d&e#f', 'example.com', 8443, 'example.com:8443', '/b?c=d&e'],
    ['https://example.com:1?x', 'example.com', 1, 'example.com:1', '/?x'],
    ['https://example.com#a@b', 'example.com', 443, 'example.com', '/'],
    ['https://example.com/@a:b@c', 'example.com', 443, 'example.com', '/@a:b@c'],
    ['https://Bücher.example/é?ü', 'xn--bcher-kva.example', 443, 'xn--bcher-kva.example', '/%C3%A9?%C3%BC'],
    ['https://a_b.example/', 'a_b.example', 443, 'a_b.example', '/'],
  ])('%s', (url, host, port, authority, path) => {
    expect(take(url)).toEqual({ host, port, authority, path, isAddress: false });
  });
  test.each([
    ['https://8.8.8.8/', '8.8.8.8', '8.8.8.8'],
    ['https://134744072:8443/', '8.8.8.8', '8.8.8.8:8443'],
    ['https://[2606:4700:0:0::1111]:8443/', '2606:4700::1111', '[2606:4700::1111]:8443'],
  ])('%s', (url, host, authority) => {
    expect(take(url)).toMatchObject({ host, authority, isAddress: true });
  });
});

describe('with a list of hosts', () => {
  const hosts = ['api.example.com', '*.pay.example', 'BIG.example', '8.8.8.8', '2606:4700:0::1111'];
  test.each([
    'https://api.example.com/',
    'https://API.example.com:8443/',
    'https://a.pay.example/',
    'https://b.a.pay.example/',
    'https://big.example/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
  ])('%s is taken', (url) => expect(take(url, hosts).path).toBe('/'));
  test.each([
    'https://example.com/',
    'https://a.api.example.com/',
    'https://pay.example/',
    'https://.pay.example/',
    'https://apay.example/',
    'https://pay.example.org/',
    'https://a.pay.example.org/',
    'https://xapi.example.com/',
    'https://api.example.com.org/',
    'https://1.1.1.1/',
    'https://[2606:4700::1112]/',
  ])('%s is refused', (url) => expect(faultOf(url, hosts)).toBe('host'));
  test('a listed address must still be permitted', () => {
    expect(faultOf('https://127.0.0.1/', ['127.0.0.1'])).toBe('address');
  });
  test('an empty list is no list, and `*` alone names nobody', () => {
    expect(take('https://example.com/', []).host).toBe('example.com');
    expect(faultOf('https://example.com/', ['*'])).toBe('host');
  });
  test('an unlisted name is refused before it is asked for', async () => {
    let asked = 0;
    const resolve = async () => {
      asked += 1;
      return ['8.8.8.8'];
    };
    const { send } = createOutbound({ policy, resolve });
    const call = {
      owner: 'account',
      method: 'GET',
      url: 'https://example.org/',
      headers: [],
      deadlineMs: 1000,
      hosts,
    } as const;
    const refused: OutboundFailure = { ok: false, code: 'destination_refused', sent: false, reason: 'host' };
    expect(await send(call)).toEqual(refused);
    expect(asked).toBe(0);
  });
});

test('a call for an account cannot leave out its hosts, without which it may go to any', () => {
  type Hosts<Call extends { readonly hosts?: unknown }> = undefined extends Call['hosts']
    ? 'optional'
    : 'needed';
  // The compiler compares them.
  const hosts: readonly [Hosts<ProxiedRequest>, Hosts<RelayedRequest>, Hosts<WebhookRequest>] = [
    'needed',
    'needed',
    'needed',
  ];
  expect(new Set(hosts)).toEqual(new Set(['needed']));
});
