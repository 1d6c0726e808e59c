import { afterAll, describe, expect, test } from 'bun:test';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { redisKeys } from '../../server/redis/records/keys.ts';
import type { Answer } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';
import { newAuthority } from '../workers/crypto/authority.ts';

interface Csr {
  readonly id: string;
  readonly data: string;
}
interface Certificate {
  readonly id: string;
  readonly csr_id: string;
  readonly data: string;
  readonly expiry: string;
}

const SUBJECT = { cn: 'shop.example', o: 'Größe & Co', ou: 'Payments', l: 'Köln', st: 'NRW', c: 'DE' };

const vault = await openTestVault();
afterAll(() => vault.close());
const [account, stranger] = [await vault.account(), await vault.account()];
const authority = await newAuthority();

async function createCsr(body: object = { cn: 'shop.example' }, who = account): Promise<Csr> {
  return (await who.send('POST', '/proxy/csr', { body })).as<Csr>();
}
function upload(csr_id: string, pem: string, who = account): Promise<Answer> {
  return who.send('POST', '/proxy/cert', {
    query: { csr_id },
    body: pem,
    headers: { 'content-type': 'application/x-pem-file' },
  });
}
async function outcome(answer: Promise<Answer>): Promise<string> {
  return (await answer).outcome;
}

describe('a certificate signing request', () => {
  test('names its subject, and is one that authorities take', async () => {
    for (const key_type of [undefined, 'ec-p256', 'rsa-2048'] as const) {
      const answer = await account.send('POST', '/proxy/csr', { body: { ...SUBJECT, key_type } });
      expect(answer.json).toEqual({
        id: expect.stringMatching(/^[\w-]{22}$/),
        ...SUBJECT,
        data: expect.stringMatching(/^-----BEGIN CERTIFICATE REQUEST-----\n/),
      });
      const issued = new X509Certificate(await authority.issue(answer.as<Csr>().data));
      expect(issued.publicKey.asymmetricKeyType).toBe(key_type === 'rsa-2048' ? 'rsa' : 'ec');
      expect(issued.subject.split('\n').sort()).toEqual(
        Object.entries(SUBJECT)
          .map(([name, text]) => `${name.toUpperCase()}=${text}`)
          .sort(),
      );
    }
  });

  test.each([
    [{}, 'body.cn'],
    [{ cn: 'x'.repeat(65) }, 'body.cn'],
    [{ cn: 'a\nb' }, 'body.cn'],
    [{ cn: 'a', c: 'DEU' }, 'body.c'],
    [{ cn: 'a', l: 'x'.repeat(129) }, 'body.l'],
    [{ cn: 'a', key_type: 'rsa-1024' }, 'body.key_type'],
  ])('is refused for %j at its place', async (body, field) => {
    const answer = await account.send('POST', '/proxy/csr', { body });
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', field]);
    expect(answer.text).not.toContain('xxxx');
  });

  test('is read, listed by id, and deleted', async () => {
    const owner = await vault.account();
    const made = [await createCsr({ cn: 'a' }, owner), await createCsr({ cn: 'b' }, owner)];
    const sorted = made.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect((await owner.send('GET', '/proxy/csr')).json).toEqual(sorted);
    const query = { id: made[0]?.id };
    expect((await owner.send('GET', '/proxy/csr/', { query })).json).toEqual(made[0]);
    expect((await owner.send('DELETE', '/proxy/csr', { query })).outcome).toBe('200');
    for (const method of ['GET', 'DELETE']) {
      expect((await owner.send(method, '/proxy/csr', { query })).outcome).toBe('404 csr_not_found');
    }
    expect((await owner.send('GET', '/proxy/csr')).json).toEqual([made[1]]);
    expect(await vault.raw.hkeys(redisKeys.csrKeys(owner.aid))).toEqual([made[1]?.id ?? '']);
  });

  test('keeps its private key to itself: no reply and no record of Redis holds it', async () => {
    const owner = await vault.account();
    const { id } = await createCsr({ cn: 'a' }, owner);
    const answers = [
      await owner.send('GET', '/proxy/csr'),
      await owner.send('GET', '/proxy/csr', { query: { id } }),
      await owner.send('DELETE', '/proxy/csr', { query: { id: 'x' } }),
    ];
    const sealed = await vault.raw.hgetBuffer(redisKeys.csrKeys(owner.aid), id);
    for (const bytes of [...answers.map(({ text }) => Buffer.from(text)), sealed ?? Buffer.alloc(0)]) {
      expect(bytes.toString('latin1')).not.toMatch(/PRIVATE KEY/);
      expect(() => createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' })).toThrow();
    }
  });
});

describe('a certificate', () => {
  test('is stored for the key of its request, with those that issued it, and shown', async () => {
    const owner = await vault.account();
    const { id: csr_id, data } = await createCsr(SUBJECT, owner);
    const middle = await authority.below('Middle');
    const notAfter = new Date('2031-05-06T07:08:09.000Z');
    const pem = await middle.issue(data, { notAfter });
    const answer = await upload(csr_id, `${pem}${middle.pem}`, owner);
    const made = answer.as<Certificate>();
    expect(answer.json).toEqual({
      id: expect.stringMatching(/^[\w-]{22}$/),
      csr_id,
      data: `${pem}${middle.pem}`,
      expiry: '2031-05-06T07:08:09.000Z',
    });
    const other = await createCsr(SUBJECT, owner);
    const second = (await upload(other.id, await authority.issue(other.data), owner)).as<Certificate>();
    const get = async (query: Record<string, string>) =>
      (await owner.send('GET', '/proxy/cert', { query })).json;
    expect(await get({ id: made.id })).toEqual(made);
    expect(await get({ csr_id })).toEqual([made]);
    expect(await get({})).toEqual([made, second].toSorted((a, b) => (a.id < b.id ? -1 : 1)));
    expect(await outcome(owner.send('DELETE', '/proxy/cert', { query: { id: made.id } }))).toBe('200');
    expect(await outcome(owner.send('GET', '/proxy/cert', { query: { id: made.id } }))).toBe(
      '404 certificate_not_found',
    );
  });

  test('may have expired: that is for the third party to say', async () => {
    const { id, data } = await createCsr();
    const pem = await authority.issue(data, { notAfter: new Date('2001-01-01T00:00:00.000Z') });
    expect((await upload(id, pem)).outcome).toBe('200');
  });

  test('of another key, another account, another kind or no kind at all is refused, and not kept', async () => {
    const mine = await createCsr();
    const theirs = await createCsr({ cn: 'theirs' }, stranger);
    const good = await authority.issue(mine.data);
    const before = await vault.raw.hlen(redisKeys.certificates(account.aid));
    const refusals = await Promise.all([
      outcome(upload(mine.id, await authority.issue(theirs.data))),
      outcome(upload(theirs.id, await authority.issue(theirs.data))),
      outcome(upload(mine.id, good, stranger)),
      outcome(upload('unknown', good)),
      outcome(upload(mine.id, mine.data)),
      outcome(upload(mine.id, '')),
      outcome(upload(mine.id, '{}')),
      outcome(upload(mine.id, good.slice(0, -40))),
      outcome(upload(mine.id, `${good}${good}`)),
      outcome(upload(mine.id, `${good}-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n`)),
      outcome(upload(mine.id, 'x'.repeat(65_537))),
      outcome(account.send('POST', '/proxy/cert', { body: good })),
    ]);
    expect(refusals).toEqual([
      '400 certificate_mismatch',
      '404 csr_not_found',
      '404 csr_not_found',
      '404 csr_not_found',
      '400 certificate_invalid',
      '400 certificate_invalid',
      '400 certificate_invalid',
      '400 certificate_invalid',
      '400 certificate_invalid',
      '400 certificate_private_key',
      '413 body_too_large',
      '400 invalid_request',
    ]);
    expect(await vault.raw.hlen(redisKeys.certificates(account.aid))).toBe(before);
  });

  test('is not for another account to see or delete', async () => {
    const { id, data } = await createCsr();
    const made = (await upload(id, await authority.issue(data))).as<Certificate>();
    for (const method of ['GET', 'DELETE']) {
      const send = (path: string, target: string) =>
        outcome(stranger.send(method, path, { query: { id: target } }));
      expect(await send('/proxy/cert', made.id)).toBe('404 certificate_not_found');
      expect(await send('/proxy/csr', id)).toBe('404 csr_not_found');
    }
    expect((await stranger.send('GET', '/proxy/cert', { query: { csr_id: id } })).json).toEqual([]);
    expect(await outcome(account.send('GET', '/proxy/cert', { query: { id: made.id } }))).toBe('200');
  });

  test('is not stored when its request is deleted meanwhile', async () => {
    const { id, data } = await createCsr();
    const pem = await authority.issue(data);
    const outcomes = await Promise.all([
      outcome(upload(id, pem)),
      outcome(account.send('DELETE', '/proxy/csr', { query: { id } })),
    ]);
    expect(outcomes[1]).toBe('200');
    expect(['200', '404 csr_not_found']).toContain(outcomes[0] ?? '');
    expect(await outcome(upload(id, pem))).toBe('404 csr_not_found');
  });
});

describe('records', () => {
  test('that were changed, exchanged or moved are refused', async () => {
    const owner = await vault.account();
    const csrs = [await createCsr({ cn: 'a' }, owner), await createCsr({ cn: 'b' }, owner)];
    const [first, second] = [csrs[0]?.id ?? '', csrs[1]?.id ?? ''];
    const key = redisKeys.csrs(owner.aid);
    const [one, two] = [await vault.raw.hgetBuffer(key, first), await vault.raw.hgetBuffer(key, second)];
    const read = () => outcome(owner.send('GET', '/proxy/csr', { query: { id: first } }));
    for (const bytes of [two, one?.subarray(1), Buffer.concat([one ?? Buffer.alloc(0), Buffer.alloc(1)])]) {
      await vault.raw.hset(key, first, bytes ?? '');
      expect(await read()).toBe('500 integrity_failed');
      expect(await outcome(owner.send('GET', '/proxy/csr'))).toBe('500 integrity_failed');
      expect(await outcome(upload(first, 'x', owner))).toBe('500 integrity_failed');
    }
    await vault.raw.hset(key, first, one ?? '');
    expect(await read()).toBe('200');
  });

  test('are as many as an account may have, and go with it', async () => {
    const owner = await vault.account();
    const others = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`other-${at}`, 'x']));
    await vault.raw.hset(redisKeys.csrs(owner.aid), others);
    expect(await outcome(owner.send('POST', '/proxy/csr', { body: { cn: 'a' } }))).toBe(
      '409 certificates_full',
    );
    expect(await vault.raw.exists(redisKeys.csrKeys(owner.aid))).toBe(0);
    await vault.opened.removeAccount(owner.name);
    expect(await vault.raw.exists(redisKeys.csrs(owner.aid))).toBe(0);
  });

  test('count as certificates', async () => {
    const owner = await vault.account();
    const { id, data } = await createCsr({ cn: 'a' }, owner);
    await upload(id, await authority.issue(data), owner);
    await owner.send('GET', '/proxy/cert');
    await upload(id, 'nothing', owner);
    expect(await vault.usage(owner)).toEqual({ certificate: 3, api_requests: 3 });
  });
});
