import type { Accounts } from '../account/accounts.ts';
import type { AccountStore } from '../account/store.ts';
import { CommandError, defineCommand } from '../cli/command.ts';
import type { Config } from '../config/config.ts';
import type { MasterKeyRing } from '../config/ring.ts';
import type { Clock } from '../core/clock.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { InstallationStore } from '../installation/store.ts';
import type { KeyStore } from '../key/store.ts';
import type { RecordStore } from '../maintenance/store/records.ts';
import type { RedisLink } from '../redis/client.ts';
import type { UsageFolding } from '../request/folding.ts';
import { VaultCopy } from './copy.ts';
import { createBackupWriter } from './file.ts';
import type { BackupRecord } from './record.ts';
import { BackupStore } from './store.ts';

interface Needs {
  readonly accountStore: AccountStore;
  readonly keyStore: KeyStore;
  readonly recordStore: RecordStore;
  readonly installationStore: InstallationStore;
  readonly crypto: Crypto;
  readonly accounts: Accounts;
  readonly folding: UsageFolding;
  readonly redis: RedisLink;
  readonly settings: ServiceSettings;
  readonly config: Config;
  readonly ring: MasterKeyRing;
  readonly now: Clock;
}

/** The remark below the counts when records were damaged. */
const DAMAGED =
  'Some records do not open. They were copied as they are, and what a damaged key record belongs to is missing.';

/** `vault backup FILE`. Exit code 1 if records were damaged: the file is complete otherwise. */
export const backupCommand = defineCommand({
  words: ['backup'],
  argument: 'FILE',
  options: {},
  summary: 'Writes a copy of the whole vault, sealed under the master key, to a new file. Servers may run.',
  audit: { action: 'backup.create' },
  opens: 'vault',
  async run({ argument, output, progress, signal }, needs: Needs) {
    const { installationStore, config, ring } = needs;
    const installation = await installationStore.read();
    if (installation === undefined) {
      throw new CommandError('There is no vault in this Redis.', 1);
    }
    // Everything that was acknowledged before this time is in the copy.
    const madeAt = needs.now();
    const file = await output(argument);
    const shown = progress('Copying', 'items');
    const writer = await createBackupWriter(file, config, ring, installation.root, madeAt);
    // A stopped command leaves no partial file: an output that is not committed is removed.
    const add = async (record: BackupRecord): Promise<void> => {
      signal.throwIfAborted();
      await writer.add(record);
    };
    const copy = new VaultCopy(
      installation,
      needs.accountStore,
      needs.recordStore,
      needs.keyStore,
      new BackupStore(needs.redis),
      needs.crypto,
      needs.accounts,
      needs.folding,
      add,
      shown.at,
      needs.settings,
      config,
      ring,
      needs.now,
    );
    const { damaged, ...counts } = await copy.copy();
    const { bytes, records } = await writer.finish(counts);
    await file.commit();
    // A damaged one does not count, so that the alert about old backups stays.
    await (damaged === 0 ? installationStore.noteBackup(madeAt) : undefined);
    shown.end();
    const made_at = new Date(madeAt).toISOString();
    const table = {
      heading: `The vault as it was at ${made_at}, or later, is in ${argument}.`,
      columns: ['Accounts', 'Keys', 'Items', 'Records', 'Bytes'],
      rows: [[counts.accounts, counts.keys, counts.items, records, bytes].map(String)],
    };
    return {
      data: { file: argument, made_at, ...counts, records, bytes, damaged },
      shown: damaged === 0 ? table : [table, `${damaged} damaged. ${DAMAGED}`],
      failed: damaged > 0,
    };
  },
});
