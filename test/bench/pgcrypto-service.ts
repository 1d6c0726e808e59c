/**
 * What a developer would write on PostgreSQL: pgcrypto with a public key, one INSERT a store and one SELECT a reading. The
 * passphrase of a locked key comes with the request. No account, log or mask. Argument: the folder of the socket of
 * PostgreSQL. Prints its port.
 */
import { join } from 'node:path';
import { SQL } from 'bun';
import { Elysia } from 'elysia';

const [folder = ''] = process.argv.slice(2);
const CONNECTIONS = 32;
const sql = new SQL({
  adapter: 'postgres',
  path: join(folder, '.s.PGSQL.5432'),
  username: 'bench',
  database: 'postgres',
  max: CONNECTIONS,
});

interface Stored {
  readonly id: number;
  readonly stored_at: Date;
}

async function store(card: string, reference: string) {
  const [stored]: Stored[] = await sql`
    INSERT INTO cards (key, reference, data)
    SELECT name, ${reference}, pgp_pub_encrypt(${card}, dearmor(public)) FROM keys WHERE name = 'locked'
    RETURNING id, stored_at`;
  return { token: String(stored?.id), user: 'postgres', reference, stored_at: stored?.stored_at };
}

async function open(token: string, passphrase: string): Promise<string | undefined> {
  const [found]: { readonly card: string }[] = await sql`
    SELECT pgp_pub_decrypt(data, dearmor(private), CASE name WHEN 'locked' THEN ${passphrase} ELSE '' END) AS card
    FROM cards JOIN keys ON name = key WHERE id = ${Number(token)}`;
  return found?.card;
}

const app = new Elysia()
  .post('/v1/vault/', ({ body, query }) => store(JSON.stringify(body), query['reference'] ?? ''))
  .get('/v1/vault/', async ({ query, headers, status }) => {
    const card = await open(query['token'] ?? '', headers['x-vault-passphrase'] ?? '');
    return card === undefined
      ? status(404)
      : new Response(card, { headers: { 'Content-Type': 'application/json' } });
  })
  .listen({ port: 0, hostname: '127.0.0.1' });
process.stdout.write(`PORT ${app.server?.port}\n`);
