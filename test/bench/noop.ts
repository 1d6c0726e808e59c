/** A server that does nothing: what the framework and the loopback cost by themselves. Prints its port. */
import { Elysia } from 'elysia';

const TOKEN_INFO = {
  token: '0'.repeat(64),
  user: 'bench',
  reference: 'order-0000000001',
  stored_at: '2030-01-01T00:00:00.000Z',
};
const CARD = {
  card_number: '4111111111111111',
  card_holder: 'Ada Lovelace',
  expiry_month: '12',
  expiry_year: '2030',
};

const app = new Elysia()
  // The framework parses a body only for a handler that uses it.
  .post('/v1/vault/', ({ body }) => ({ ...TOKEN_INFO, members: Object.keys(body as object).length }))
  .post('/v1/capture/:unique_id', ({ body }) => ({
    ...TOKEN_INFO,
    members: Object.keys(body as object).length,
  }))
  .get('/v1/vault/', () => CARD)
  .listen({ port: 0, hostname: '127.0.0.1' });
process.stdout.write(`PORT ${app.server?.port}\n`);
