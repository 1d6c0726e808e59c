import type { KeyCounts } from '../../services/maintenance/report.ts';
import { type Rotation, rotateMasterKey } from '../../services/maintenance/rotate.ts';
import { defineCommand, type Table } from './command.ts';

/** How many records of each kind are under which master key; `?` is a key that is not in the ring. */
export function keyTable(keys: KeyCounts): Table {
  const ids = [...new Set(Object.values(keys).flatMap((ofKind) => Object.keys(ofKind)))].sort();
  return {
    heading: 'Records by master key',
    columns: ['Kind', ...ids],
    rows: Object.entries(keys).map(([kind, ofKind]) => [kind, ...ids.map((id) => String(ofKind[id] ?? 0))]),
  };
}

function lostTable({ lost, lostTotal }: Rotation): Table[] {
  const heading = `${lostTotal} do not open under any key; vault verify says more`;
  const rows = lost.map(({ kind, account, place }) => [kind, account, place]);
  return lostTotal === 0 ? [] : [{ heading, columns: ['Kind', 'Account', 'Place'], rows }];
}

function verdictOf({ done, writeKey, repliesFound }: Rotation, others: readonly string[]): string {
  if (done && others.length === 0) {
    return `Everything is under ${writeKey}, the only key in VAULT_MASTER_KEY. To change it, put a new one before it: docs/guides/master-key.md.`;
  }
  const rest = others.length === 0 ? 'every other key' : others.join(', ');
  if (!done) {
    return `Records keep appearing under another key than ${writeKey}: a server still writes under it. Put ${writeKey} first on every server and run this again. Remove no key yet.`;
  }
  return repliesFound
    ? `Everything is under ${writeKey}. Once no server writes under ${rest}, that can be removed.`
    : `Everything is under ${writeKey}, but this Redis forbids SCAN, so kept replies were not searched for: remove ${rest} after 24 hours.`;
}

const rotateMaster = defineCommand({
  words: ['rotate-master'],
  options: {},
  summary:
    'Re-encrypts every record under the first of VAULT_MASTER_KEY, while servers run, so that the other keys can be removed.',
  audit: { action: 'master_key.rotate' },
  opens: 'vault',
  async run({ progress }, { vault }) {
    const { crypto, masterKeys, now, stores } = vault;
    const { writeId, ids } = masterKeys;
    const rotation = await rotateMasterKey({ crypto, masterKeys, now, ...stores }, (pass) => {
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

/** The change of the master key. */
export const rotateCommands = [rotateMaster];
