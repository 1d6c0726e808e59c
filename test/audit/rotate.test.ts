import { expect, test } from 'bun:test';
import type { Checkpoint } from '../../workers/jobs/audit/jobs.ts';
import { runCommand } from '../helpers/command.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const OLD = new Uint8Array(32).fill(7);
const NEW = new Uint8Array(32).fill(9);

function checkpointsOf(vault: TestVault): readonly Checkpoint[] {
  return vault.events
    .filter(({ event }) => event === 'audit_checkpoint')
    .map((line) => line as unknown as Checkpoint);
}

test('a rotation of the master key leaves every chain and checkpoint as it was, those of deleted accounts too', async () => {
  const vault = await openTestVault({ masterKeys: new Map([['old', OLD]]), alone: true });
  const [kept, gone] = [await vault.account(), await vault.account()];
  await kept.key('u');
  await gone.key('u');
  await runCommand(['account', 'delete', gone.name, '--yes'], { vault });
  await vault.opened.checkpoint();
  const given = checkpointsOf(vault);
  expect(given.map(({ account }) => account)).toEqual(expect.arrayContaining(['', kept.aid, gone.aid]));

  const both = await vault.secondServer({
    masterKeys: new Map([
      ['new', NEW],
      ['old', OLD],
    ]),
  });
  expect((await runCommand(['rotate-master'], { vault: both })).code).toBe(0);
  const alone = await vault.secondServer({ masterKeys: new Map([['new', NEW]]) });
  for (const aid of ['', kept.aid, gone.aid]) {
    const report = await alone.opened.services.auditVerifier.verify(aid, given);
    expect([report.checkpoints, report.fault]).toEqual([2, undefined]);
  }
  const entries = (
    await Array.fromAsync(alone.opened.services.auditListing.walk('', { action: 'master_key.rotate' }))
  ).flat();
  expect(entries.map(({ outcome }) => outcome)).toEqual(['success']);
  for (const opened of [alone, both, vault]) {
    await opened.close();
  }
}, 60_000);
