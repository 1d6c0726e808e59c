/**
 * What a developer would write in an afternoon on the vault's own stack: AES-GCM with one key in the main thread, one
 * hash in Redis. No account, token format, index, log, fence or worker. Argument: the socket of its Redis. Prints its port.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Elysia } from 'elysia';
import Redis from 'ioredis';

const [path = ''] = process.argv.slice(2);
const redis = new Redis({ path, enableAutoPipelining: true });
const key = randomBytes(32);
const [NONCE_BYTES, TAG_BYTES] = [12, 16];

async function store(card: string, reference: string) {
  const token = randomBytes(32).toString('hex');
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const sealed = Buffer.concat([nonce, cipher.update(card), cipher.final(), cipher.getAuthTag()]);
  const storedAt = new Date().toISOString();
  await redis.hset(token, 'card', sealed, 'reference', reference, 'stored_at', storedAt);
  return { token, user: 'plain', reference, stored_at: storedAt };
}

async function open(token: string): Promise<string | undefined> {
  const sealed = await redis.hgetBuffer(token, 'card');
  if (sealed === null) {
    return undefined;
  }
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  return `${decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8')}${decipher.final('utf8')}`;
}

const app = new Elysia()
  .post('/v1/vault/', ({ body, query }) => store(JSON.stringify(body), query['reference'] ?? ''))
  .get('/v1/vault/', async ({ query, status }) => {
    const card = await open(query['token'] ?? '');
    return card === undefined
      ? status(404)
      : new Response(card, { headers: { 'Content-Type': 'application/json' } });
  })
  .listen({ port: 0, hostname: '127.0.0.1' });
process.stdout.write(`PORT ${app.server?.port}\n`);
