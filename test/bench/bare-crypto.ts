/** What the runtime's own cryptography costs, without a vault around it. */
import {
  argon2,
  createCipheriv,
  createHmac,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
} from 'node:crypto';
import { type Figure, median } from './stats.ts';

const BATCHES = 20;
const BATCH_MS = 10;
/** A card's JSON with its length, padded to the step that the vault pads to. */
const CARD_BYTES = 256;

/** Microseconds of one call: the median over batches that are long enough for the clock. */
function microsecondsOf(work: () => unknown): number {
  const batchMs = (count: number): number => {
    const from = performance.now();
    for (let i = 0; i < count; i++) {
      work();
    }
    return performance.now() - from;
  };
  let count = 64;
  while (batchMs(count) < BATCH_MS) {
    count *= 2;
  }
  return (median(Array.from({ length: BATCHES }, () => batchMs(count))) * 1_000) / count;
}

/** Milliseconds of one Argon2id at the vault's default: 64 MiB, three passes, four lanes. */
export async function argon2Ms(): Promise<number> {
  const from = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  argon2(
    'argon2id',
    {
      message: randomBytes(32),
      nonce: randomBytes(16),
      memory: 65_536,
      passes: 3,
      parallelism: 4,
      tagLength: 32,
    },
    (error) => (error ? reject(error) : resolve()),
  );
  await promise;
  return performance.now() - from;
}

function seal(key: Buffer, card: Buffer, associated: Buffer): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, randomBytes(12), { authTagLength: 16 });
  cipher.setAAD(associated);
  const sealed = cipher.update(card);
  cipher.final();
  return Buffer.concat([sealed, cipher.getAuthTag()]);
}

/** Measures each primitive for a fifth of a second or a little more. */
export async function measureCrypto(): Promise<Figure[]> {
  const key = randomBytes(32);
  const card = randomBytes(CARD_BYTES);
  const associated = randomBytes(100);
  const mine = generateKeyPairSync('x25519');
  const theirs = generateKeyPairSync('x25519');
  const micro = (name: string, work: () => unknown): Figure => ({
    name,
    value: microsecondsOf(work),
    unit: 'us',
  });
  const argonMs: number[] = [];
  await argon2Ms();
  for (let i = 0; i < 5; i++) {
    argonMs.push(await argon2Ms());
  }
  return [
    micro('AES-256-GCM seal of a card', () => seal(key, card, associated)),
    micro('HMAC-SHA-256', () => createHmac('sha256', key).update(associated).digest()),
    micro('HKDF-SHA-256', () => hkdfSync('sha256', key, associated, 'info', 32)),
    micro('X25519', () => diffieHellman({ privateKey: mine.privateKey, publicKey: theirs.publicKey })),
    { name: 'Argon2id, 64 MiB t=3 p=4', value: median(argonMs), unit: 'ms' },
  ];
}
