import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Checkpoint } from '../../workers/jobs/audit/jobs.ts';
import { openTestVault } from '../helpers/vault.ts';

const ROUNDS = 12;
const ENTRIES = 40;
const DAY_MS = 24 * 60 * 60 * 1_000;

let now = Date.parse('2026-03-01T00:00:00Z');
let aid = '';
let chains = 0;

const vault = await openTestVault({ now: () => now, auditRetentionMs: 10 * DAY_MS });
afterAll(() => vault.close());

function key(): string {
  return `{a:${aid}}log`;
}
async function add(count: number): Promise<void> {
  const from = { actor: 'operator', ip: '', userAgent: '', requestId: '' };
  for (let i = 0; i < count; i++) {
    await vault.opened.services.audit.record({
      ...from,
      aid,
      action: 'rule.create',
      outcome: 'success',
      object: `rule/${i}`,
    });
  }
}
function verify(given: readonly Checkpoint[] = []) {
  return vault.opened.services.auditVerifier.verify(aid, given, now - 10 * DAY_MS);
}
function checkpointsSoFar(): readonly Checkpoint[] {
  return vault.events
    .filter(({ event }) => event === 'audit_checkpoint')
    .map((line) => line as unknown as Checkpoint);
}
/** A place in the chain, another one in each round. */
function placeOf(round: number): number {
  return 2 + ((round * 7) % (ENTRIES - 4));
}

beforeEach(async () => {
  chains += 1;
  aid = `chain-${chains}`;
  await add(ENTRIES);
});

test('a chain in order is found to be so, also in the middle of the work on it', async () => {
  expect(await verify()).toEqual({ account: aid, first: 1, last: ENTRIES, checkpoints: 0 });
  const [report] = await Promise.all([verify(), add(30)]);
  expect(report.fault).toBeUndefined();
  await vault.opened.checkpoint();
  expect(await verify()).toEqual({ account: aid, first: 1, last: ENTRIES + 30, checkpoints: 1 });
});

describe(`tampering, ${ROUNDS} times each, names the first place that is wrong`, () => {
  const saved = () => vault.raw.hgetallBuffer(key());
  const putBack = async (fields: Record<string, Buffer>): Promise<void> => {
    await vault.raw.del(key());
    await vault.raw.hset(key(), fields);
  };

  const each = async (
    tamper: (place: number, fields: Record<string, Buffer>) => Promise<{ sequence: number; reason: string }>,
  ): Promise<void> => {
    const fields = await saved();
    for (let round = 0; round < ROUNDS; round++) {
      const fault = await tamper(placeOf(round), fields);
      expect((await verify()).fault).toEqual(fault as never);
      await putBack(fields);
      expect((await verify()).fault).toBeUndefined();
    }
  };

  test('deletion', () =>
    each(async (place) => {
      await vault.raw.hdel(key(), String(place));
      return { sequence: place, reason: 'missing' };
    }));

  test('change', () =>
    each(async (place, fields) => {
      const entry = Buffer.from(fields[String(place)] ?? '');
      const at = (place * 13) % entry.length;
      entry[at] = (entry[at] ?? 0) ^ 1;
      await vault.raw.hset(key(), String(place), entry);
      return { sequence: place, reason: 'damaged' };
    }));

  test('reordering', () =>
    each(async (place, fields) => {
      const [one = Buffer.alloc(0), other = Buffer.alloc(0)] = [
        fields[String(place)],
        fields[String(place + 1)],
      ];
      await vault.raw.hset(key(), { [String(place)]: other, [String(place + 1)]: one });
      return { sequence: place, reason: 'damaged' };
    }));

  test('insertion', () =>
    each(async (place, fields) => {
      // Everything from there moves up by one, the head as well as may be.
      for (let i = ENTRIES; i >= place; i--) {
        await vault.raw.hset(key(), String(i + 1), fields[String(i)] ?? '');
      }
      return { sequence: place + 1, reason: 'damaged' };
    }));

  test('something behind the end', () =>
    each(async (place, fields) => {
      await vault.raw.hset(key(), String(ENTRIES + place), fields[String(place)] ?? '');
      return { sequence: ENTRIES + 1, reason: 'foreign' };
    }));

  test('a cut tail', () =>
    each(async (place) => {
      for (let i = place; i <= ENTRIES; i++) {
        await vault.raw.hdel(key(), String(i));
      }
      return { sequence: place, reason: 'missing' };
    }));

  test('an old tail put back, with its head', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const before = await saved();
      const last = Object.keys(before).filter((name) => /^\d+$/.test(name)).length;
      await add(3);
      await vault.opened.checkpoint();
      const after = await saved();
      await putBack(before);
      expect((await verify()).fault).toEqual({ sequence: last + 1, reason: 'cut' });
      await putBack(after);
    }
    expect((await verify()).fault).toBeUndefined();
  });
});

describe('a checkpoint kept elsewhere', () => {
  test('shows a chain that was put back whole, with the checkpoint beside it', async () => {
    await vault.opened.checkpoint();
    const [log, beside] = [await vault.raw.hgetallBuffer(key()), await vault.raw.hget('{audit}', aid)];
    await add(5);
    now += 31_000;
    await vault.opened.checkpoint();
    await vault.raw.del(key());
    await vault.raw.hset(key(), log);
    await vault.raw.hset('{audit}', aid, beside ?? '');
    expect((await verify()).fault).toBeUndefined();
    expect((await verify(checkpointsSoFar())).fault).toEqual({ sequence: ENTRIES + 1, reason: 'cut' });
    // And one that went on as if nothing had been.
    await add(20);
    expect((await verify()).fault).toBeUndefined();
    expect((await verify(checkpointsSoFar())).fault).toEqual({ sequence: ENTRIES + 5, reason: 'replaced' });
  });

  test('shows a chain that was deleted', async () => {
    await vault.opened.checkpoint();
    const given = checkpointsSoFar();
    await vault.raw.del(key());
    await vault.raw.hdel('{audit}', aid);
    expect((await verify()).fault).toBeUndefined();
    expect((await verify(given)).fault).toEqual({ sequence: 1, reason: 'cut' });
    expect(await vault.opened.services.auditVerifier.chains(given)).toContain(aid);
  });

  test('that this vault has not signed is refused', async () => {
    await vault.opened.checkpoint();
    const [own] = checkpointsSoFar().filter(({ account }) => account === aid);
    const forged = { ...own, sequence: 3 } as Checkpoint;
    await expect(verify([forged])).rejects.toMatchObject({ code: 'integrity_failed' });
  });

  test('is taken of each chain that moved on, once', async () => {
    const taken = () => checkpointsSoFar().filter(({ account }) => account === aid);
    await vault.opened.checkpoint();
    await vault.opened.checkpoint();
    expect(taken()).toHaveLength(1);
    expect(taken()[0]).toMatchObject({ sequence: ENTRIES, time: new Date(now).toISOString() });
    await add(1);
    await vault.opened.checkpoint();
    expect(taken().map(({ sequence }) => sequence)).toEqual([ENTRIES, ENTRIES + 1]);
  });

  test('is taken by the sweep of a chain whose server died before it could', async () => {
    const second = await vault.secondServer({ now: () => now });
    await second.opened.sweep();
    expect(second.events.some((line) => line.event === 'audit_checkpoint' && line['account'] === aid)).toBe(
      true,
    );
    await second.close();
  });
});

describe('retention', () => {
  test('removes what is older, and leaves a chain that verifies, reads and goes on', async () => {
    await vault.opened.checkpoint();
    const given = checkpointsSoFar();
    now += 10 * DAY_MS - 1_000;
    await add(5);
    now += 2_000;
    await vault.opened.sweep();
    expect(await verify(given)).toMatchObject({ first: ENTRIES + 1, last: ENTRIES + 5 });
    expect((await verify(given)).fault).toBeUndefined();
    await add(2);
    expect(await verify()).toMatchObject({ first: ENTRIES + 1, last: ENTRIES + 7 });
    const pages = await Array.fromAsync(vault.opened.services.auditListing.walk(aid, {}));
    expect(pages.flat()).toHaveLength(7);
    await vault.raw.hdel(key(), String(ENTRIES + 1));
    expect((await verify()).fault).toEqual({ sequence: ENTRIES + 1, reason: 'missing' });
  });

  test('cannot be played by removing what is not old', async () => {
    await vault.raw.hdel(key(), '1', '2', '3');
    expect((await verify()).fault).toEqual({ sequence: 1, reason: 'missing' });
  });

  test('takes the chain of an account that is gone once all of it is old, and says so', async () => {
    now += 12 * DAY_MS;
    await vault.opened.sweep();
    // Those that other tests have damaged are left as they are, and told of.
    expect(vault.events.some(({ event }) => event === 'audit_integrity_failed')).toBe(true);
    expect(await vault.raw.exists(key())).toBe(0);
    expect(await verify(checkpointsSoFar())).toMatchObject({ first: 0, last: 0 });
    const noted = (await Array.fromAsync(vault.opened.services.auditListing.walk('', {}))).flat();
    expect(noted).toContainEqual(
      expect.objectContaining({ action: 'audit.expire', object: `account/${aid}` }),
    );
  });
});
