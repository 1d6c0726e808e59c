import { version } from '../../package.json';
import { CommandError, defineCommand } from '../cli/command.ts';
import { copyVault } from './copy.ts';
import { createBackupWriter } from './file.ts';

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
  async run({ argument, output, progress, signal }, session) {
    const { vault, config, ring } = session;
    const installation = await vault.installationStore.read();
    if (installation === undefined) {
      throw new CommandError('There is no vault in this Redis.', 1);
    }
    // Everything that was acknowledged before this time is in the copy.
    const madeAt = vault.now();
    const file = await output(argument);
    const shown = progress('Copying', 'items');
    const facts = { env: config.env, server: version, madeAt, ring, root: installation.root };
    const writer = await createBackupWriter(file, facts);
    // A stopped command leaves no partial file: an output that is not committed is removed.
    const add: typeof writer.add = async (record) => {
      signal.throwIfAborted();
      await writer.add(record);
    };
    const { damaged, ...counts } = await copyVault(session, installation, add, shown.at);
    const { bytes, records } = await writer.finish(counts);
    await file.commit();
    // A damaged one does not count, so that the alert about old backups stays until the damage was looked at.
    await (damaged === 0 ? vault.installationStore.noteBackup(madeAt) : undefined);
    shown.end();
    const data = {
      file: argument,
      made_at: new Date(madeAt).toISOString(),
      ...counts,
      records,
      bytes,
      damaged,
    };
    const row = [counts.accounts, counts.keys, counts.items, records, bytes].map(String);
    const table = {
      heading: `The vault as it was at ${data.made_at}, or later, is in ${argument}.`,
      columns: ['Accounts', 'Keys', 'Items', 'Records', 'Bytes'],
      rows: [row],
    };
    return {
      data,
      shown: damaged === 0 ? table : [table, `${damaged} damaged. ${DAMAGED}`],
      failed: damaged > 0,
    };
  },
});
