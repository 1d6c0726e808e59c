import { defineCommand, type Table } from '../../cli/command.ts';
import type { Events } from '../../event/events.ts';
import type { KeyCounts } from '../report.ts';
import type { KeyRotation, Rotation } from './rotate.ts';

interface Needs {
  readonly events: Events;
  readonly keyRotation: KeyRotation;
  readonly masterKeys: { readonly writeId: string; readonly ids: readonly string[] };
}

/** The number of records of each kind by master key. `?` is a key that is not in the ring. */
export function keyTable(keys: KeyCounts): Table {
  const ids = [...new Set(Object.values(keys).flatMap((ofKind) => Object.keys(ofKind)))].sort();
  return {
    heading: 'Records by master key',
    columns: ['Kind', ...ids],
    rows: Object.entries(keys).map(([kind, ofKind]) => [kind, ...ids.map((id) => String(ofKind[id] ?? 0))]),
  };
}

/** The records that no key decrypts; no table if there are none. */
function lostTable({ lost, lostTotal }: Rotation): Table[] {
  const heading = `${lostTotal} records cannot be decrypted with any key; run vault verify`;
  const rows = lost.map(({ kind, account, place }) => [kind, account, place]);
  return lostTotal === 0 ? [] : [{ heading, columns: ['Kind', 'Account', 'Place'], rows }];
}

/** The message about the removal of the other keys. */
function verdictOf({ done, writeKey, repliesFound }: Rotation, others: readonly string[]): string {
  if (done && others.length === 0) {
    return `All records are encrypted with ${writeKey}, the only key in VAULT_MASTER_KEY. To change it, add a new key before it: docs/guides/master-key.md.`;
  }
  const rest = others.length === 0 ? 'every other key' : others.join(', ');
  if (!done) {
    return `A server still encrypts with another key than ${writeKey}. Put ${writeKey} first on every server and run this command again. Do not remove a key yet.`;
  }
  return repliesFound
    ? `All records are encrypted with ${writeKey}. When no server encrypts with ${rest}, it can be removed.`
    : `All records are encrypted with ${writeKey}, except kept replies, which were not found since this Redis forbids SCAN: remove ${rest} after 24 hours.`;
}

/** `vault rotate-master` (PCI DSS 3.7.4, 3.7.5). Exit code 1 if another key is still needed, or records do not open. */
export const rotateCommand = defineCommand({
  words: ['rotate-master'],
  options: {},
  summary:
    'Re-encrypts every record with the first key of VAULT_MASTER_KEY, while servers run, so that the other keys can be removed.',
  audit: { action: 'master_key.rotate' },
  opens: 'vault',
  async run({ progress }, { keyRotation, masterKeys, events }: Needs) {
    const { writeId, ids } = masterKeys;
    // Changes that no event was queued for are sealed under the keys of their time; deliveries are re-encrypted.
    await events.round(true);
    const rotation = await keyRotation.rotate((pass) => {
      const shown = progress(`Pass ${pass}`, 'records');
      let seen = 0;
      return {
        seen: (records) => {
          seen += records;
          shown.at(seen);
        },
        end: shown.end,
      };
    });
    const others = ids.filter((id) => id !== writeId);
    const { passes } = rotation;
    const reencrypted = passes.reduce((sum, count) => sum + count, 0);
    return {
      data: { ...rotation, reencrypted, removable: rotation.done && rotation.repliesFound ? others : [] },
      shown: [
        keyTable(rotation.keys),
        ...lostTable(rotation),
        `Records re-encrypted: ${reencrypted}. Passes: ${passes.length}.`,
        verdictOf(rotation, others),
      ],
      failed: !rotation.done || rotation.lostTotal > 0,
    };
  },
});
