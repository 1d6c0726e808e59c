/** Rules about cryptography that the sources keep. */
import { expect, test } from 'bun:test';
import { readSources } from '../../sources.ts';

const sources = await readSources('server', 'workers');
function using(pattern: RegExp): string[] {
  return [...sources].flatMap(([name, text]) => (pattern.test(text) ? [name] : [])).sort();
}

test('one file calls an AEAD', () => {
  expect(using(/createDecipheriv|setAuthTag|'aes-256-gcm'/)).toEqual([
    'workers/crypto/primitives/symmetric.ts',
  ]);
  expect(using(/createCipheriv/)).toEqual([
    'workers/crypto/item/lookup.ts',
    'workers/crypto/primitives/symmetric.ts',
  ]);
});

test('workers/crypto uses WebCrypto for ML-KEM alone, and no weak randomness', () => {
  const own = [...sources].filter(([name]) => name.startsWith('workers/crypto/'));
  expect(own.length).toBeGreaterThan(15);
  const users = own.filter(([, text]) => /\.subtle|webcrypto/.test(text)).map(([name]) => name);
  expect(users).toEqual(['workers/crypto/primitives/x-wing.ts']);
  for (const [, text] of own) {
    expect(text).not.toMatch(/Math\.random|Date\.now/);
  }
});
