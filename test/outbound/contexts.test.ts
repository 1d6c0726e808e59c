import { describe, expect, test } from 'bun:test';
import { createContexts } from '../../server/outbound/contexts.ts';
import { asClientCert, newAuthority } from './certificates.ts';

const authority = await newAuthority();
const authorities = [authority.pem];
async function newPair() {
  return asClientCert(await authority.issue({ use: 'clientAuth' }));
}
const [one, two] = [await newPair(), await newPair()];

describe('a context with a client certificate', () => {
  test('is that of the owner’s pair, and of no other owner or pair', () => {
    const contextOf = createContexts(authorities);
    const first = contextOf('a', one);
    expect(contextOf('a', { ...one })).toBe(first);
    const others = [contextOf('b', one), contextOf('a', two), contextOf('a')];
    expect(new Set([first, ...others]).size).toBe(4);
    expect(contextOf('b')).toBe(contextOf('a'));
  });

  test('is not made of the certificate of one pair and the key of another', () => {
    const contextOf = createContexts(authorities);
    contextOf('a', one);
    contextOf('a', two);
    const mixed = { certPem: one.certPem, keyPem: two.keyPem };
    expect(() => contextOf('a', mixed)).toThrow(expect.objectContaining({ code: 'internal' }));
  });

  test('is forgotten after its time, used or not', async () => {
    const contextOf = createContexts(authorities, 100);
    const first = contextOf('a', one);
    while (contextOf('a', one) === first) {
      await Bun.sleep(10);
    }
  });

  test('makes room for newer ones, the oldest first', () => {
    const contextOf = createContexts(authorities, undefined, 2);
    const of = (owner: string) => contextOf(owner, one);
    const [a, b] = [of('a'), of('b')];
    of('c');
    expect(of('b')).toBe(b);
    expect(of('a')).not.toBe(a);
  });
});
