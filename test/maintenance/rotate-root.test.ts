/** The root is replaced while servers serve: what was stored before, meanwhile and after is found by its reference. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RootOutcome } from '../../server/maintenance/rotate/root.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, createAccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

setDefaultTimeout(120_000);

const DAY_MS = 24 * 60 * 60 * 1_000;

let clockMs = 0;
let first: TestVault;
let second: TestVault;
let account: AccountClient;
let there: AccountClient;

beforeEach(async () => {
  clockMs = Date.now();
  first = await openTestVault({
    alone: true,
    now: () => clockMs,
    authFailuresMax: 0,
    warmUnlockSeconds: 3_600,
  });
  second = await first.secondServer();
  account = await first.account();
  there = account.via(second.handle);
  await account.key('u');
});
afterEach(async () => {
  await second.close();
  await first.close();
});

/** What happens when the rotation waits for the servers, before they have taken the state up, and when they have. */
interface Hooks {
  readonly before?: (state: string) => Promise<void>;
  readonly after?: (state: string) => Promise<void>;
  readonly seen?: () => void;
  readonly end?: boolean;
}

function rotate({ before, after, seen = () => undefined, end = false }: Hooks = {}): Promise<RootOutcome> {
  return first.opened.services.rootRotation.rotate({
    ...{ seen, isForced: end },
    waitForServers: async (state) => {
      await before?.(state);
      await Promise.all([first, second].map(({ opened }) => opened.roots.refresh()));
      await after?.(state);
    },
  });
}

async function tokensOf(client: AccountClient, query: Readonly<Record<string, string>>): Promise<string[]> {
  const tree = await client.send('GET', '/vault', { query: { user: 'u', limit: '-1', ...query } });
  expect(tree.outcome).toBe('200');
  const items = tree.as<Record<string, readonly { readonly token: string }[]>>()['u'] ?? [];
  return items.map(({ token }) => token).sort();
}
async function faults(): Promise<readonly unknown[]> {
  const { out } = await runCommand(['verify', '--json'], { vault: first });
  return (JSON.parse(out) as { readonly faults: readonly unknown[] }).faults;
}
let stored = 0;
function store(client: AccountClient, reference: string): Promise<string> {
  stored += 1;
  return client.store('u', { number: String(4_000_000_000_000 + stored) }, { reference });
}
/** Both servers find exactly these by reference and by prefix. */
async function expectFound(tokens: readonly string[], reference: string): Promise<void> {
  for (const client of [account, there]) {
    for (const query of [{ reference }, { reference_prefix: reference.slice(0, -1) }]) {
      expect(await tokensOf(client, query)).toEqual(tokens.toSorted());
    }
  }
}

test('what is stored, updated and deleted in every phase, on both servers, is listed exactly', async () => {
  const tokens = [await store(account, 'order-1'), await store(there, 'order-1')];
  const doomed = await store(account, 'order-1');
  const work = async (): Promise<void> => {
    tokens.push(await store(account, 'order-1'), await store(there, 'order-1'));
    const [token = ''] = tokens;
    for (const client of [account, there]) {
      const query = { user: 'u', token, reference: 'order-1' };
      const updated = await client.send('POST', '/vault/update', {
        query,
        passphrase: PASSPHRASE,
        body: { name: String(stored) },
      });
      expect(updated.outcome).toBe('200');
    }
    const gone = await store(there, 'order-1');
    const query = { user: 'u', token: gone, reference: 'order-1' };
    expect((await account.send('DELETE', '/vault', { query })).outcome).toBe('200');
    await expectFound([...tokens, ...(isDoomed ? [doomed] : [])], 'order-1');
  };
  let isDoomed = true;
  const states: string[] = [];
  const half = async (state: string): Promise<void> => {
    states.push(state.split('.')[0] ?? '');
    // One server has taken the state up, the other has not.
    await second.opened.roots.refresh();
    await work();
  };
  const rotation = await rotate({
    before: half,
    after: async (state) => {
      if (state.startsWith('moving')) {
        // Stored under the older root, and removed by a server that writes under the newer one.
        const query = { user: 'u', token: doomed, reference: 'order-1' };
        expect((await there.send('DELETE', '/vault', { query })).outcome).toBe('200');
        isDoomed = false;
      }
      await work();
    },
  });
  expect(states).toEqual(['known', 'moving', 'steady']);
  expect(rotation.state).toBe('pending');
  await work();
  expect(await faults()).toEqual([]);
});

test('a rotation that dies at any point is finished by the next one', async () => {
  const tokens = await Promise.all(Array.from({ length: 40 }, () => store(account, 'order-2')));
  const died = new Error('died');
  let alive = 1;
  let deaths = 0;
  for (;;) {
    // It dies at the first place, then at the second, and so on: before and behind each wait, and between pages.
    let left = alive;
    const mayDie = (): void => {
      left -= 1;
      if (left === 0) {
        throw died;
      }
    };
    const hooks = { before: async () => mayDie(), after: async () => mayDie(), seen: mayDie };
    const outcome = await rotate(hooks).catch((error: unknown) => error);
    tokens.push(await store(there, 'order-2'));
    await expectFound(tokens, 'order-2');
    if (outcome !== died) {
      expect((outcome as RootOutcome).state).toBe('pending');
      break;
    }
    deaths += 1;
    alive += 1;
  }
  expect(deaths).toBeGreaterThan(4);
  expect(await faults()).toEqual([]);
});

test('5,000 items are moved under load, and every one is found afterwards', async () => {
  const many = Array.from({ length: 5_000 }, (_, i) => `bulk-${i % 50}`);
  const tokens: string[] = [];
  for (let at = 0; at < many.length; at += 100) {
    tokens.push(
      ...(await Promise.all(many.slice(at, at + 100).map((reference) => store(account, reference)))),
    );
  }
  let isRotating = true;
  const during: string[] = [];
  const load = (async () => {
    while (isRotating) {
      during.push(await store(there, 'bulk-during'));
      expect(await tokensOf(account, { reference: 'bulk-7' })).toHaveLength(100);
    }
  })();
  const { passes } = await rotate();
  isRotating = false;
  await load;
  expect(passes.reduce((sum, moved) => sum + moved, 0)).toBeGreaterThanOrEqual(5_000);
  expect(during.length).toBeGreaterThan(0);
  expect(await tokensOf(there, { reference_prefix: 'bulk-' })).toEqual([...tokens, ...during].toSorted());
  expect(await tokensOf(there, { reference: 'bulk-during' })).toEqual(during.toSorted());
});

test('passwords move at their next sign-in; the older root goes when none needs it, or when the operator says so', async () => {
  const sleeper = await first.account();
  const whoami = async (client: AccountClient) => (await client.send('GET', '/whoami')).outcome;
  const fresh = async (client: AccountClient): Promise<string> => {
    // What was remembered of a sign-in is forgotten.
    clockMs += 120_000;
    return whoami(client);
  };
  expect((await rotate()).state).toBe('pending');
  const [before] = (await rotate()).waiting.length > 1 ? ['both'] : [];
  expect(before).toBe('both');
  expect(await fresh(account)).toBe('200');
  expect((await rotate()).waiting).toEqual([sleeper.name]);
  expect([await fresh(account.via(second.handle)), await fresh(sleeper)]).toEqual(['200', '200']);
  const kept = await rotate();
  expect([kept.state, kept.waiting]).toEqual(['pending', []]);
  clockMs += 2 * DAY_MS;
  expect((await rotate()).state).toBe('done');
  expect(first.opened.roots.current().ids).toHaveLength(1);
  expect([await fresh(account), await fresh(there), await fresh(sleeper)]).toEqual(['200', '200', '200']);
  // Another rotation, which the operator ends: who has not signed in needs a new password.
  expect((await rotate()).state).toBe('pending');
  expect(await fresh(account)).toBe('200');
  expect((await rotate({ end: true })).state).toBe('done');
  expect([await fresh(account), await fresh(sleeper)]).toEqual(['200', '401 unauthenticated']);
  expect((await runCommand(['account', 'password', sleeper.name], { vault: first })).code).toBe(0);
});

test('cursors and Idempotency-Keys from before are good on all servers, in every phase', async () => {
  for (let i = 0; i < 4; i++) {
    await store(account, 'page');
  }
  const page = (client: AccountClient, next?: string) =>
    client.send('GET', '/vault', { query: { user: 'u', limit: '2', ...(next ? { next_token: next } : {}) } });
  const cursor = (await page(account)).headers.get('x-vault-next-token') ?? '';
  expect(cursor).not.toBe('');
  const send = (client: AccountClient, idempotencyKey: string, number = '4111111111111111') =>
    client.send('POST', '/vault', {
      ...{ query: { user: 'u', algorithm: 'uuid' }, passphrase: PASSPHRASE, body: { number } },
      idempotencyKey,
    });
  const replies: (readonly [string, string])[] = [['before', (await send(account, 'before')).text]];
  const check = async (): Promise<void> => {
    for (const client of [account, there]) {
      expect((await page(client, cursor)).outcome).toBe('200');
      for (const [key, text] of replies) {
        const repeated = await send(client, key);
        // A server that still writes under the older root does not know what to do with a newer claim: a clean conflict.
        expect([text, '409 idempotency_conflict']).toContain(
          repeated.status === 200 ? repeated.text : repeated.outcome,
        );
        expect((await send(client, key, '4242424242424242')).outcome).toBe('409 idempotency_conflict');
      }
    }
  };
  const half = async (state: string): Promise<void> => {
    await second.opened.roots.refresh();
    const key = `in ${state.split('.')[0]}`;
    const made = await Promise.all([send(there, key), send(account, key)]);
    const good = made.filter(({ status }) => status === 200);
    // At one moment at two servers: at most one has stored it, and all that were answered have the same reply.
    expect(new Set(good.map(({ text }) => text)).size).toBeLessThanOrEqual(1);
    replies.push(...good.slice(0, 1).map(({ text }) => [key, text] as const));
    await check();
  };
  await rotate({ before: half, after: check });
  await check();
  for (const [key, text] of replies) {
    expect((await send(there, key)).text).toBe(text);
  }
});

test('the chains and checkpoints of a vault whose keys all derived from its root stay valid, and the signing key stays', async () => {
  const { crypto } = first.opened;
  // The record as versions before the first rotation had it: the root alone.
  const place = { purpose: 'record', account: '', kind: 'root', path: ['root'] } as const;
  const root = Buffer.from(await crypto.sealRecord({ place, plaintext: new Uint8Array(32).fill(9) }));
  const old = await openTestVault({ alone: true, now: () => clockMs });
  await old.raw.hset(redisKeys.installation, 'root', root);
  const restarted = await old.secondServer();
  try {
    const client = await restarted.account();
    const sameHere = createAccountClient(restarted.handle, client);
    await sameHere.key('u');
    await restarted.opened.checkpoint();
    const pem = await restarted.opened.crypto.auditKey();
    await restarted.opened.services.rootRotation.rotate({
      seen: () => undefined,
      waitForServers: async () => undefined,
    });
    await sameHere.key('v');
    await restarted.opened.checkpoint();
    expect(await restarted.opened.crypto.auditKey()).toBe(pem);
    const report = await restarted.opened.services.auditVerifier.verify(client.aid);
    expect([report.fault, report.checkpoints]).toEqual([undefined, 1]);
  } finally {
    await restarted.close();
    await old.close();
  }
});

test('a signing key that was replaced is found by the one that the operator has kept', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vault-pin-'));
  const file = join(folder, 'audit.pem');
  try {
    writeFileSync(file, (await runCommand(['audit', 'key'], { vault: first })).out);
    await rotate();
    for (const words of [['verify'], ['audit', 'verify']]) {
      expect((await runCommand([...words, '--signing-key', file], { vault: first })).code).toBe(0);
    }
    // Somebody with the master key writes a root record of their own.
    const place = { purpose: 'record', account: '', kind: 'root', path: ['root'] } as const;
    const plaintext = new Uint8Array(32).fill(1);
    const forged = Buffer.from(await first.opened.crypto.sealRecord({ place, plaintext }));
    await first.raw.hset(redisKeys.installation, 'root', forged);
    const swapped = await first.secondServer();
    for (const words of [['verify'], ['audit', 'verify']]) {
      const { code, err } = await runCommand([...words, '--signing-key', file], { vault: swapped });
      expect([code, err.includes('is not the one in FILE')]).toEqual([1, true]);
    }
    await swapped.close();
    writeFileSync(file, 'no key');
    expect((await runCommand(['verify', '--signing-key', file], { vault: first })).code).toBe(2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
