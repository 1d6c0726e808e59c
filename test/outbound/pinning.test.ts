import { afterAll, describe, expect, test } from 'bun:test';
import { createAddressPolicy } from '../../server/outbound/addresses.ts';
import type { OutboundFailure } from '../../server/outbound/call.ts';
import { isTrusted } from '../../server/outbound/exchange.ts';
import { createOutbound } from '../../server/outbound/https.ts';
import { type Resolve, resolveBySystem } from '../../server/outbound/resolve.ts';
import { newAuthority } from './certificates.ts';
import { sendAlone } from './send-alone.ts';
import {
  always,
  authority,
  caPem,
  good,
  localOutbound,
  OK,
  postTo,
  startListener,
  startTarget,
  stopTargets,
} from './target.ts';

afterAll(stopTargets);

const REFUSED: OutboundFailure = { ok: false, code: 'destination_refused', sent: false, reason: 'address' };
function unreachable(reason: OutboundFailure['reason']): OutboundFailure {
  return {
    ok: false,
    code: 'target_unreachable',
    sent: false,
    reason,
  };
}

/** A resolver that gives one answer after the other, the last one for ever. */
function answering(...answers: string[][]): { readonly resolve: Resolve; asked(): number } {
  let asked = 0;
  const resolve: Resolve = async () => {
    asked += 1;
    return answers[Math.min(asked, answers.length) - 1] ?? [];
  };
  return { resolve, asked: () => asked };
}

describe('a name is refused before anybody is dialled when it stands for', () => {
  const closed = createAddressPolicy({ allow: [] });
  const some = createAddressPolicy({ allow: ['127.0.0.1/32'] });
  test.each([
    [['127.0.0.1'], closed],
    [['::1'], closed],
    [['::ffff:127.0.0.1'], closed],
    [['8.8.8.8', '127.0.0.1'], closed],
    [['127.0.0.1', '8.8.8.8'], closed],
    [['2606:4700::1111', '8.8.8.8', '::1'], closed],
    [['127.1'], closed],
    [[''], closed],
    [['8.8.8.8', 'no address'], closed],
    [['fe80::1%lo'], closed],
    [['127.0.0.2'], some],
    [['127.0.0.1', '10.0.0.1'], some],
    [['::1', '127.0.0.1'], some],
    [[...Array(50).fill('127.0.0.1'), '127.0.0.2'], some],
  ])('%j', async (answers, policy) => {
    const v4 = await startListener();
    const v6 = await startListener(undefined, '::1', v4.port);
    const { resolve, asked } = answering(answers);
    const { send } = createOutbound({ policy, caPem, resolve });
    expect(await send(postTo(v4.port))).toEqual(REFUSED);
    expect([v4.connections(), v6.connections(), asked()]).toEqual([0, 0, 1]);
  });
  test('the machine itself, as the system knows it', async () => {
    const v4 = await startListener();
    const { send } = createOutbound({ policy: closed, caPem });
    expect(await send(postTo(v4.port, { url: `https://localhost:${v4.port}/` }))).toEqual(REFUSED);
    expect(v4.connections()).toBe(0);
    expect(await resolveBySystem('localhost')).toContain('127.0.0.1');
  });
});

describe('who is dialled', () => {
  test('is who was vetted, when the next answer would be another, at every attempt', async () => {
    const target = await startTarget(good, always(OK));
    const other = await startListener(undefined, '127.0.0.2', target.port);
    const policy = createAddressPolicy({ allow: ['127.0.0.1/32'] });
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const { resolve, asked } = answering(['127.0.0.1'], ['127.0.0.2']);
      const { send } = createOutbound({ policy, caPem, resolve });
      expect(await send(postTo(target.port))).toMatchObject({ ok: true });
      expect(asked()).toBe(1);
      expect(await send(postTo(target.port))).toEqual(REFUSED);
      expect(asked()).toBe(2);
    }
    expect([target.connections(), other.connections()]).toEqual([50, 0]);
  });
  test('is the next of the vetted addresses when the first is not there', async () => {
    const target = await startTarget(good, always(OK));
    const resolve = async () => ['127.0.0.2', '127.0.0.3', '127.0.0.1'];
    expect(await localOutbound({ caPem, resolve }).send(postTo(target.port))).toMatchObject({ ok: true });
  });
  test('is reached over IPv6, by its name and by its address', async () => {
    const names = [
      { type: 'dns', value: 'target.example' },
      { type: 'ip', value: '::1' },
    ] as const;
    const target = await startTarget(await authority.issue({ names }), always(OK), {}, '::1');
    const policy = createAddressPolicy({ allow: ['::1/128'] });
    const { send } = createOutbound({ policy, caPem, resolve: async () => ['0:0::1'] });
    expect(await send(postTo(target.port))).toMatchObject({ ok: true });
    const url = `https://[0:0::1]:${target.port}/`;
    expect(await send(postTo(target.port, { url }))).toMatchObject({ ok: true });
    expect(target.received()).toContain(`Host: [::1]:${target.port}\r\n`);
    expect(target.greetings).toEqual(['target.example -', '- -']);
  });
  test('may be found with the system, where the operator allowed it', async () => {
    const credential = await authority.issue({ names: [{ type: 'dns', value: 'localhost' }] });
    const target = await startTarget(credential, always(OK));
    const policy = createAddressPolicy({ allow: ['127.0.0.0/8', '::1/128'] });
    const url = `https://localhost:${target.port}/`;
    const { send } = createOutbound({ policy, caPem });
    expect(await send(postTo(target.port, { url }))).toMatchObject({ ok: true });
  });
});

describe('before the first byte', () => {
  test('nobody listens', async () => {
    const gone = await startListener();
    stopTargets();
    expect(await localOutbound({ caPem }).send(postTo(gone.port))).toEqual(unreachable('connection'));
  });
  test('the connection is closed at once, or speaks something else', async () => {
    for (const greet of ['', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 'SSH-2.0-OpenSSH\r\n']) {
      const target = await startListener((socket) => socket.end(greet));
      expect(await localOutbound({ caPem }).send(postTo(target.port))).toEqual(unreachable('connection'));
      expect(target.connections()).toBe(1);
    }
  });
  test('a name stands for nothing', async () => {
    const failing = () => Promise.reject(new Error('ENOTFOUND target.example'));
    expect(await localOutbound({ resolve: failing }).send(postTo(443))).toEqual(unreachable('name'));
    expect(await localOutbound({ resolve: async () => [] }).send(postTo(443))).toEqual(unreachable('name'));
  });
});

describe('a peer that the runtime has let through', () => {
  const destination = { host: 'target.example', port: 443, authority: '', path: '/', isAddress: false };
  const peer = (changes: object) => ({
    authorized: true,
    remoteAddress: '::ffff:127.0.0.1',
    getPeerCertificate: () => ({ subject: { CN: 'target.example' }, subjectaltname: 'DNS:target.example' }),
    ...changes,
  });
  const certificate = (names: string | undefined) => ({
    getPeerCertificate: () => ({ subject: { CN: 'target.example' }, subjectaltname: names }),
  });

  test.each([
    ['is trusted', {}, true],
    ['is not, where its chain was not verified', { authorized: false }, false],
    ['is not, at another address', { remoteAddress: '127.0.0.2' }, false],
    ['is not, without an address', { remoteAddress: undefined }, false],
    ['is not, with another name', certificate('DNS:other.example'), false],
    ['is not, with a common name alone', certificate(undefined), false],
    ['is not, with the name of a host for an address', certificate('IP Address:127.0.0.1'), false],
  ])('%s', (_name, changes, isOne) => {
    expect(isTrusted(peer(changes) as never, ['127.0.0.1'], destination)).toBe(isOne);
  });
});

describe('the environment', () => {
  test('names no proxy and lifts no verification', async () => {
    const proxy = await startListener();
    const target = await startTarget(good, always(OK));
    const url = `http://127.0.0.1:${proxy.port}`;
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
    const variables = {
      ...Object.fromEntries(names.map((name) => [name, url])),
      NODE_USE_ENV_PROXY: '1',
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      NO_PROXY: '',
    };
    const known = await sendAlone(target.port, caPem, variables);
    expect(known).toMatchObject({ careless: true, outcome: { ok: true, status: 200 } });
    const before = target.received();
    const { pem } = await newAuthority('Some Other Root');
    expect(await sendAlone(target.port, pem, variables)).toEqual({
      careless: true,
      outcome: unreachable('certificate'),
    });
    expect(target.received()).toBe(before);
    expect(proxy.connections()).toBe(0);
  });
});
