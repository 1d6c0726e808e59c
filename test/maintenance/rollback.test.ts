/** What a writer to Redis does who puts back an older copy of a record: it opens, in its place, and says what was true once. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { Secret } from '../../server/core/secret.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, createAccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { capture, createCapture, createRetrieve } from '../helpers/endpoints.ts';
import { withoutPauses } from '../helpers/quick-timers.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { type Copy, copyOf, putBack } from './copies.ts';

// What seems bad is looked at three more times within a second before it counts.
setDefaultTimeout(60_000);

interface Found {
  readonly faults: readonly {
    readonly kind: string;
    readonly account: string;
    readonly place: string;
    readonly what: string;
    readonly state: string;
  }[];
}
interface Entry {
  readonly action: string;
  readonly outcome: string;
  readonly actor: string;
}

const OLDER = '500 record_rolled_back';

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ authFailuresMax: 0, workers: 2 });
});
afterAll(() => vault.close());
beforeEach(async () => {
  account = await vault.account();
  await account.key('u');
});

/** What `vault verify` says of the test's account, or of all that has its name. */
async function faults(...args: readonly string[]): Promise<string[]> {
  const only = args.length === 0 ? ['--account', account.name] : args;
  const { out } = await withoutPauses(() => runCommand(['verify', '--json', ...only], { vault }));
  const found = JSON.parse(out) as Found;
  const own = found.faults.filter(({ account: name }) => name === account.name);
  return own.map(({ state, kind, place, what }) => `${state} ${kind} ${place}: ${what}`);
}
async function operate(...args: readonly string[]): Promise<string> {
  const { code, out } = await runCommand([...args, '--json'], { vault });
  expect(code).toBe(0);
  return out;
}
async function recordOf(name: string): Promise<Buffer> {
  return (await vault.raw.hgetBuffer(redisKeys.accounts, name)) ?? Buffer.alloc(0);
}
function putRecord(name: string, record: Buffer): Promise<number> {
  return vault.raw.hset(redisKeys.accounts, name, record);
}
/** A server that has read nothing yet: another one, or this one after a restart. */
async function atRestarted<T>(
  use: (client: AccountClient) => Promise<T>,
  who: Pick<AccountClient, 'name' | 'password' | 'aid'> = account,
): Promise<T> {
  const server = await vault.secondServer();
  try {
    return await use(createAccountClient(server.handle, who));
  } finally {
    await server.close();
  }
}
async function whoami(client: AccountClient): Promise<string> {
  return (await client.send('GET', '/whoami')).outcome;
}

describe('an older record of an account', () => {
  test('that unmasks again is refused everywhere, recorded and named', async () => {
    expect(await whoami(account)).toBe('200');
    const old = await recordOf(account.name);
    await operate('account', 'set', account.name, '--unmasked=false');
    const mine = await recordOf(account.name);
    expect(await atRestarted(whoami)).toBe('200');
    await putRecord(account.name, old);
    // One that remembers the newer record, and one that has read nothing.
    expect([await whoami(account), await atRestarted(whoami)]).toEqual([OLDER, OLDER]);
    expect(await faults()).toEqual([
      `bad account ${account.name}: it is older than its newest change: revision 1 instead of 2`,
    ]);
    await putRecord(account.name, mine);
    expect([await whoami(account), await faults()]).toEqual(['200', []]);
    const log = (await account.send('GET', '/audit', { query: { action: 'sign_in' } })).as<Entry[]>();
    expect(log).toContainEqual(
      expect.objectContaining({ action: 'sign_in', outcome: 'record_rolled_back', actor: 'vault' }),
    );
  });

  test('with the password before the newest is refused with either password', async () => {
    expect(await whoami(account)).toBe('200');
    const old = await recordOf(account.name);
    const { password } = JSON.parse(await operate('account', 'password', account.name)) as {
      readonly password: string;
    };
    const renewed = { ...account, password };
    await putRecord(account.name, old);
    for (const signingIn of [account, renewed]) {
      expect(await atRestarted(whoami, signingIn)).toBe(OLDER);
    }
  });

  test('with older preferences is refused, also where the account has changed them itself', async () => {
    const set = (value: number) =>
      account.send('POST', '/preferences', { body: { key: 'limit', value } }).then(({ outcome }) => outcome);
    expect(await set(7)).toBe('200');
    const old = await recordOf(account.name);
    expect(await set(8)).toBe('200');
    await putRecord(account.name, old);
    expect(await atRestarted(whoami)).toBe(OLDER);
  });

  test('cannot be changed into the newest, unless the operator accepts it', async () => {
    const old = await recordOf(account.name);
    await operate('account', 'set', account.name, '--unmasked=false');
    await putRecord(account.name, old);
    expect((await runCommand(['account', 'set', account.name, '--paying'], { vault })).code).not.toBe(0);
    expect((await runCommand(['account', 'password', account.name], { vault })).code).not.toBe(0);
    await operate('account', 'set', account.name, '--accept-older', '--unmasked=false');
    expect([await atRestarted(whoami), await faults()]).toEqual(['200', []]);
    await putRecord(account.name, old);
    expect(await atRestarted(whoami)).toBe(OLDER);
    await operate('account', 'set', account.name, '--accept-older');
  });

  test('of an account that was deleted is refused, also under its name that is in use again', async () => {
    const old = await recordOf(account.name);
    await operate('account', 'delete', account.name, '--yes');
    await putRecord(account.name, old);
    expect(await atRestarted(whoami)).toBe(OLDER);
    expect(await faults()).toContain(`bad account ${account.name}: it was deleted, and is there again`);
    expect((await runCommand(['account', 'set', account.name, '--accept-older'], { vault })).code).not.toBe(
      0,
    );
    await vault.raw.hdel(redisKeys.accounts, account.name);
    await operate('account', 'create', account.name);
    await putRecord(account.name, old);
    expect(await atRestarted(whoami)).toBe(OLDER);
    await vault.raw.hdel(redisKeys.accounts, account.name);
  });

  test('opens no endpoint of the account', async () => {
    const endpoint = await createCapture(account, 'u');
    const old = await recordOf(account.name);
    await operate('account', 'set', account.name, '--unmasked=false');
    await putRecord(account.name, old);
    const server = await vault.secondServer();
    const { outcome } = await capture(server, endpoint, { body: { number: '4111111111111111' } });
    await server.close();
    expect(outcome).toBe(OLDER);
    await operate('account', 'set', account.name, '--accept-older');
  });
});

describe('a process that dies between a change and its entry', () => {
  const { accounts } = redisKeys;

  test('leaves a record that verifies, signs in and is then protected', async () => {
    const before = await recordOf(account.name);
    await operate('account', 'set', account.name, '--unmasked=false');
    const old = await recordOf(account.name);
    // The change alone: what the service does before the entry is written.
    await vault.opened.services.accounts.set(account.name, { unmasked: true });
    expect(await faults()).toEqual([]);
    expect(await atRestarted(whoami)).toBe('200');
    for (const older of [old, before]) {
      await putRecord(account.name, older);
      expect(await atRestarted(whoami)).toBe(OLDER);
    }
    await operate('account', 'set', account.name, '--accept-older');
  });

  test('leaves no account that was removed and could come back', async () => {
    const old = await recordOf(account.name);
    await vault.opened.services.accounts.remove(account.name);
    // Another server finds what is left to be removed.
    await vault.opened.sweep();
    await vault.raw.hset(accounts, account.name, old);
    expect(await atRestarted(whoami)).toBe(OLDER);
    await vault.raw.hdel(accounts, account.name);
  });

  test('leaves entries without a change that is seen: the log alone is no fault', async () => {
    const { aid } = account;
    const change = { kind: 'endpoint', id: 'never', digest: '0'.repeat(32), isGone: false } as const;
    await vault.opened.services.audit.record({
      ...{ aid, action: 'endpoint.create', outcome: 'success', actor: 'vault', object: 'endpoint/never' },
      ...{ ip: '', userAgent: '', requestId: 'r' },
      change,
    });
    expect(await faults()).toEqual([]);
  });
});

test('a record of a version without revisions signs in, verifies, and is protected from its next change on', async () => {
  const { name } = account;
  const { accounts, audit } = vault.opened.services;
  const place = { purpose: 'record', account: '', kind: 'account', path: [name] } as const;
  const opened = await vault.opened.crypto.openRecord({ place, record: await recordOf(name) });
  const { revision: _, ...old } = JSON.parse(new TextDecoder().decode(opened)) as {
    readonly revision: number;
  };
  const plaintext = new TextEncoder().encode(JSON.stringify(old));
  const sealed = Buffer.from(await vault.opened.crypto.sealRecord({ place, plaintext }));
  await vault.raw.del(redisKeys.auditChain(account.aid));
  await putRecord(name, sealed);
  await audit.flush();
  expect([await atRestarted(whoami), await faults()]).toEqual(['200', []]);
  await accounts.setPassword(name, new Secret(new TextEncoder().encode('a new password')));
  const changed = createAccountClient(vault.handle, { ...account, password: 'a new password' });
  expect([await whoami(changed), await faults()]).toEqual(['200', []]);
  await putRecord(name, sealed);
  expect(await atRestarted(whoami)).toBe(OLDER);
  await vault.raw.hdel(redisKeys.accounts, name);
});

describe('an older endpoint', () => {
  /** All that Redis has of an endpoint. */
  function copyEndpoint(id: string): Promise<Copy> {
    const own = `{a:${account.aid}}`;
    return copyOf(vault.raw, `{e:${id}}`, `${own}e`, `${own}l:*`);
  }

  test('that was deleted and put back is named', async () => {
    const { unique_id: id } = await createRetrieve(account, 'u');
    const copy = await copyEndpoint(id);
    expect((await account.send('DELETE', `/retrieve/${id}`)).outcome).toBe('200');
    expect(await faults()).toEqual([]);
    await putBack(vault.raw, copy);
    expect(await faults()).toEqual([`bad endpoint ${id}: it was deleted, and is there again`]);
  });

  test('with a wider mask is named when its id was given to another', async () => {
    const id = `till-${account.aid}`;
    await createRetrieve(account, 'u', { unique_id: id, mask_fields: 'cvv' });
    const copy = await copyEndpoint(id);
    expect((await account.send('DELETE', `/retrieve/${id}`)).outcome).toBe('200');
    await createRetrieve(account, 'u', { unique_id: id, mask_fields: 'card_number,cvv' });
    expect(await faults()).toEqual([]);
    const nonce = await vault.raw.hget(`{e:${id}}`, 'n');
    await vault.raw.del(`{e:${id}}`);
    await putBack(vault.raw, new Map([...copy].filter(([name]) => name === `{e:${id}}`)));
    // The nonce is not sealed: the older records are put in the place of the newer ones.
    await vault.raw.hset(`{e:${id}}`, 'n', nonce ?? '');
    expect(await faults()).toEqual([`bad endpoint ${id}: it was deleted, and is there again`]);
  });

  test('that a passphrase change has stopped is named', async () => {
    const { unique_id: id } = await createCapture(account, 'u');
    const copy = await copyEndpoint(id);
    const body = { user: 'u', passphrase: PASSPHRASE, new_passphrase: `${PASSPHRASE} 2` };
    expect((await account.send('PUT', '/key', { body })).outcome).toBe('200');
    expect(await faults()).toEqual([]);
    await putBack(vault.raw, copy);
    expect(await faults()).toEqual([
      `bad endpoint ${id}: a passphrase change has stopped it, and it is there again`,
    ]);
  });

  test('of a deleted key is named', async () => {
    const { unique_id: id } = await createCapture(account, 'u');
    const copy = await copyEndpoint(id);
    expect((await account.send('DELETE', '/key', { query: { user: 'u' } })).outcome).toBe('200');
    await putBack(vault.raw, copy);
    expect(await faults()).toEqual([`bad endpoint ${id}: its vault key was deleted, and it is there`]);
  });

  test('is named though the entry of its end was removed: the entry is missing', async () => {
    const { unique_id: id } = await createRetrieve(account, 'u');
    const copy = await copyEndpoint(id);
    await account.send('DELETE', `/retrieve/${id}`);
    const [newest] = (await account.send('GET', '/audit', { query: { action: 'endpoint.delete' } })).as<
      readonly { readonly id: string }[]
    >();
    await vault.raw.hdel(redisKeys.auditChain(account.aid), newest?.id ?? '');
    await putBack(vault.raw, copy);
    expect(await faults()).toEqual([`bad security log ${newest?.id}: the entry is missing`]);
  });
});
