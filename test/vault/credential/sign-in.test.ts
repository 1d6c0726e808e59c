/** Credentials where they do not belong, and floods of ones that nobody has. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { ensureFirstAccount } from '../../../server/boot/first-account.ts';
import { Secret } from '../../../server/core/secret.ts';
import { type AccountClient, basicAuth } from '../../helpers/clients.ts';
import { runCommand } from '../../helpers/command.ts';
import { type MadeCredential, makeCredential } from '../../helpers/credentials.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const FLOOD = 2_000;

let vault: TestVault;
let account: AccountClient;
let made: MadeCredential;

beforeAll(async () => {
  vault = await openTestVault({ alone: true });
  account = await vault.account();
  made = await makeCredential(account, ['vault:list']);
});
afterAll(() => vault.close());

type Headers = NonNullable<RequestInit['headers']>;

async function statusOf(headers: Headers, query = ''): Promise<number> {
  const request = new Request(`http://localhost/v1/whoami${query}`, { headers });
  return (await vault.handle(request)).status;
}

function swapped(text: string): string {
  return text.replaceAll(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

describe('a credential', () => {
  test('is taken as a bearer of any case, and as a password of its id', async () => {
    const { id, secret } = made;
    for (const authorization of [
      `Bearer ${secret}`,
      `bearer ${secret}`,
      `BEARER   ${secret}`,
      basicAuth(id, secret),
    ]) {
      expect(await statusOf({ authorization })).toBe(200);
    }
  });

  test('is taken in no other form', async () => {
    const { id, secret } = made;
    const forms: Headers[] = [
      ...[
        `Bearer ${secret} `.replace(/ $/, ' x'),
        `Bearer ${secret},`,
        `Bearer "${secret}"`,
        `Bearer\t${secret}`,
        `Bearer ${secret}=`,
        `Bearer ${swapped(secret)}`,
        `Bearer ${secret.slice(5)}`,
        `Token ${secret}`,
        secret,
        basicAuth(swapped(id), secret),
        basicAuth(`${id} `, secret),
        basicAuth('', secret),
        basicAuth(account.name, secret),
        basicAuth(id, `${secret} `),
        basicAuth(id, account.password),
        basicAuth(id, ''),
        `Bearer ${secret}, Bearer ${secret}`,
        `Bearer ${secret}, ${basicAuth(account.name, account.password)}`,
      ].map((authorization) => ({ authorization })),
      [
        ['authorization', `Bearer ${secret}`],
        ['authorization', basicAuth(account.name, account.password)],
      ],
      { cookie: `authorization=Bearer ${secret}; access_token=${secret}` },
      { 'x-api-key': secret },
      { 'proxy-authorization': `Bearer ${secret}` },
    ];
    for (const headers of forms) {
      expect([JSON.stringify(headers), await statusOf(headers)]).toEqual([JSON.stringify(headers), 401]);
    }
    for (const query of [`?access_token=${secret}`, `?authorization=Bearer%20${secret}`]) {
      expect(await statusOf({}, query)).toBe(401);
    }
    expect(JSON.stringify(vault.lines)).not.toContain(secret.slice(5));
  });

  test('has an id that no account can have as its name', async () => {
    const bootstrap = { account: { user: made.id, password: new Secret(account.password) }, unmasked: true };
    await expect(ensureFirstAccount(vault.opened, bootstrap)).rejects.toThrow(
      'form of the id of a credential',
    );
    const { code, err } = await runCommand(['account', 'create', made.id], { vault });
    expect([code, err]).toEqual([2, expect.stringContaining('form of the id of a credential')]);
  });

  test('that nobody has costs no password hash, no lock and little memory', async () => {
    const before = await vault.raw.dbsize();
    for (let sent = 0; sent < FLOOD; sent += 100) {
      const statuses = await Promise.all(
        Array.from({ length: 100 }, () => {
          const secret = `vak1_${randomBytes(32).toString('base64url')}`;
          return statusOf({
            authorization: sent % 200 === 0 ? `Bearer ${secret}` : basicAuth(made.id, secret),
          });
        }),
      );
      expect(new Set(statuses)).toEqual(new Set([401]));
    }
    expect(await statusOf({ authorization: `Bearer ${made.secret}` })).toBe(200);
    expect(await statusOf({ authorization: basicAuth(account.name, account.password) })).toBe(200);
    await vault.opened.services.audit.flush();
    expect(await vault.raw.hlen('{credentials}')).toBe(1);
    expect((await vault.raw.dbsize()) - before).toBeLessThan(10);
    const events = (await account.send('GET', '/audit', { query: { action: 'sign_in', limit: 200 } })).as<
      readonly { outcome: string }[]
    >();
    expect(events.filter(({ outcome }) => outcome === 'unauthenticated').length).toBeLessThan(50);
  });
});
