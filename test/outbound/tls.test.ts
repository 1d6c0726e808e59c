import { afterAll, describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { Secret } from '../../server/core/secret.ts';
import { asClientCert, type Credential, newAuthority, type Terms } from './certificates.ts';
import {
  always,
  authority,
  caPem,
  good,
  localOutbound,
  OK,
  postTo,
  startTarget,
  stopTargets,
} from './target.ts';

afterAll(stopTargets);

const DAY_MS = 86_400_000;
const stranger = await newAuthority('Some Other Root');
const { send } = localOutbound({ caPem });
function dns(...values: string[]) {
  return values.map((value) => ({ type: 'dns' as const, value }));
}

const BAD: [string, Terms][] = [
  ['signed by itself', { selfSigned: true, subject: 'CN=target.example' }],
  ['expired', { notBefore: new Date(Date.now() - 2 * DAY_MS), notAfter: new Date(Date.now() - DAY_MS) }],
  [
    'not yet valid',
    { notBefore: new Date(Date.now() + DAY_MS), notAfter: new Date(Date.now() + 2 * DAY_MS) },
  ],
  ['for another name', { names: dns('other.example') }],
  ['for a longer name', { names: dns('target.example.org', 'atarget.example') }],
  ['with the name in its common name alone', { names: [], subject: 'CN=target.example' }],
  [
    'with a common name beside an address',
    { names: [{ type: 'ip', value: '127.0.0.1' }], subject: 'CN=target.example' },
  ],
  ['for a deeper wildcard', { names: dns('*.target.example') }],
  ['for a wildcard over the top', { names: dns('*.example.org', '*') }],
  ['for clients', { use: 'clientAuth' }],
  ['with an unknown critical extension', { unknownCritical: true }],
];

/** Nothing was sent, and nobody is to try again. */
const UNTRUSTED = {
  ok: false,
  code: 'target_unreachable',
  sent: false,
  reason: 'certificate',
} as const;

async function expectNothingSent(credential: Credential): Promise<void> {
  const target = await startTarget(credential, always(OK));
  expect(await send(postTo(target.port))).toEqual(UNTRUSTED);
  await target.end();
  expect([target.received(), target.connections()]).toEqual(['', 1]);
}

describe('not a byte of a request goes to a certificate', () => {
  test.each(BAD)('%s', async (_name, terms) => expectNothingSent(await authority.issue(terms)));
  test('of an authority that nobody trusts', async () => expectNothingSent(await stranger.issue()));
  test('of a trusted name but a trusted authority less', async () => {
    const target = await startTarget(good, always(OK));
    const outcome = await localOutbound().send(postTo(target.port));
    expect(outcome).toEqual(UNTRUSTED);
    expect(target.received()).toBe('');
  });
});

describe('a good certificate', () => {
  test('is taken, with the name in the handshake', async () => {
    const target = await startTarget(good, always(OK));
    expect(await send(postTo(target.port))).toMatchObject({ ok: true, status: 200 });
    expect(target.greetings).toEqual(['target.example -']);
  });
  test('may be a wildcard for the last label', async () => {
    const target = await startTarget(await authority.issue({ names: dns('*.example.net') }), always(OK));
    const url = `https://a.example.net:${target.port}/`;
    expect(await send(postTo(target.port, { url }))).toMatchObject({ ok: true });
    const deeper = postTo(target.port, { url: `https://b.a.example.net:${target.port}/` });
    expect(await send(deeper)).toEqual(UNTRUSTED);
  });
  test('may be for an address, which is then not asked for', async () => {
    const credential = await authority.issue({ names: [{ type: 'ip', value: '127.0.0.1' }] });
    const target = await startTarget(credential, always(OK));
    const literal = localOutbound({ caPem, resolve: () => Promise.reject(new Error('was asked')) });
    const url = `https://127.0.0.1:${target.port}/`;
    expect(await literal.send(postTo(target.port, { url }))).toMatchObject({ ok: true });
    expect(target.greetings).toEqual(['- -']);
    expect(target.received()).toContain(`Host: 127.0.0.1:${target.port}\r\n`);
  });
  test('for a name does not do for its address', async () => {
    const target = await startTarget(good, always(OK));
    const url = `https://127.0.0.1:${target.port}/`;
    expect(await send(postTo(target.port, { url }))).toEqual(UNTRUSTED);
    expect(target.received()).toBe('');
  });
  test('each of several added authorities counts', async () => {
    const both = localOutbound({ caPem: `some text\n${stranger.pem}\n${authority.pem}\n` });
    for (const issuer of [authority, stranger]) {
      const target = await startTarget(await issuer.issue(), always(OK));
      expect(await both.send(postTo(target.port))).toMatchObject({ ok: true });
    }
  });
});

test('TLS 1.1 is not spoken, TLS 1.2 is', async () => {
  const old = await startTarget(good, always(OK), { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' });
  expect(await send(postTo(old.port))).toEqual({ ...UNTRUSTED, reason: 'connection' });
  const second = await startTarget(good, always(OK), { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' });
  expect(await send(postTo(second.port))).toMatchObject({ ok: true });
});

describe('client certificates', () => {
  const ask = { requestCert: true, ca: caPem };
  test('are presented with the request that brings one, and with no other', async () => {
    const client = await authority.issue({ subject: 'CN=our client', use: 'clientAuth' });
    const target = await startTarget(good, always(OK), { ...ask, rejectUnauthorized: false });
    const clientCert = asClientCert(client);
    expect(await send(postTo(target.port, { clientCert }))).toMatchObject({ ok: true });
    expect(await send(postTo(target.port))).toMatchObject({ ok: true });
    expect(target.greetings).toEqual(['target.example our client', 'target.example -']);
  });
  test('do not replace the look at the target', async () => {
    const clientCert = asClientCert(await authority.issue({ use: 'clientAuth' }));
    const target = await startTarget(await stranger.issue(), always(OK), {
      ...ask,
      rejectUnauthorized: false,
    });
    const outcome = await send(postTo(target.port, { clientCert }));
    expect(outcome).toEqual(UNTRUSTED);
    expect([target.received(), target.greetings]).toEqual(['', []]);
  });
  test('that are missing fail at the target', async () => {
    const target = await startTarget(good, always(OK), { ...ask, rejectUnauthorized: true });
    expect(await send(postTo(target.port))).toMatchObject({ ok: false, code: 'target_unreachable' });
    expect(target.received()).toBe('');
  });
  test('that cannot be used send nothing and say nothing', async () => {
    const target = await startTarget(good, always(OK));
    const other = await authority.issue();
    const certPem = good.certPem;
    for (const keyPem of [other.keyPem, 'not a key', '', good.certPem]) {
      const call = postTo(target.port, { clientCert: { certPem, keyPem: new Secret(keyPem) } });
      const error = await send(call).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(VaultError);
      expect(error).toMatchObject({ code: 'internal', message: new VaultError('internal').message });
    }
    expect(target.connections()).toBe(0);
  });
});
