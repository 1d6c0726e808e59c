/** No buffer that is made while a key is sealed holds a secret of it afterwards. */
import { afterAll, expect, test } from 'bun:test';
import type { SecretKind } from '../../../workers/crypto/endpoint/secret.ts';
import { sealWarm } from '../../../workers/crypto/key/warm.ts';
import { key as endpointKey, KINDS, make } from './endpoint-fixture.ts';
import { CONTEXT, filled, openNewKey, PASSPHRASE } from './fixture.ts';

const Original = globalThis.Uint8Array;
afterAll(() => {
  globalThis.Uint8Array = Original;
});

/** The byte arrays that `work` constructs, copies of others included. */
function arraysMadeBy(work: () => unknown): Uint8Array[] {
  const made: Uint8Array[] = [];
  globalThis.Uint8Array = new Proxy(Original, {
    construct(target, args, newTarget) {
      const array = Reflect.construct(target, args, newTarget === globalThis.Uint8Array ? target : newTarget);
      made.push(array);
      return array;
    },
  });
  try {
    work();
  } finally {
    globalThis.Uint8Array = Original;
  }
  return made;
}

function holds(array: Uint8Array, secret: Uint8Array): boolean {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength).includes(Buffer.from(secret));
}

test('the search finds a secret that is left', () => {
  const secret = filled(32, 9);
  const made = arraysMadeBy(() => new Uint8Array(secret));
  expect(made.filter((array) => holds(array, secret))).toHaveLength(1);
});

test('sealing a warm key leaves no private half and no token key behind', async () => {
  const { record, key } = await openNewKey();
  const made = arraysMadeBy(() => sealWarm(filled(32, 3), CONTEXT, record, PASSPHRASE, key));
  expect(made.length).toBeGreaterThan(1);
  for (const secret of [key.tokenKey, ...key.generations.map(({ privateKey }) => privateKey)]) {
    expect(made.filter((array) => holds(array, secret))).toEqual([]);
  }
});

test.each([...KINDS])('making an endpoint leaves nothing of the key behind: %s', (kind: SecretKind) => {
  const made = arraysMadeBy(() => make(kind));
  expect(made.length).toBeGreaterThan(1);
  for (const secret of [endpointKey.tokenKey, ...endpointKey.generations.map((each) => each.privateKey)]) {
    expect(made.filter((array) => holds(array, secret))).toEqual([]);
  }
});
