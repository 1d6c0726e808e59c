import { CommandError, defineCommand, type Output, type Values } from '../cli/command.ts';
import { PASSPHRASE_FILE, readPassphrase } from '../cli/file.ts';
import {
  ACCOUNT,
  checkAccount,
  contextOf,
  keyOption,
  type OperatorNeeds,
  withCommandErrors,
} from '../cli/operator.ts';
import { VaultError } from '../core/errors.ts';
import { compileJsonBody } from '../schema/json-body.ts';
import type { Exports } from './exports.ts';
import { ExportRequest } from './schema.ts';

interface Needs extends OperatorNeeds {
  readonly exports: Exports;
}

const OPTIONS = {
  ...ACCOUNT,
  key: keyOption('the vault key whose items are exported'),
  recipient: {
    kind: 'list',
    value: 'RECIPIENT',
    help: 'an age recipient (age1…) who can open the file; can be repeated',
  },
  'reference-prefix': { kind: 'text', value: 'TEXT', help: 'items whose reference begins so (all)' },
  'stored-after': { kind: 'text', value: 'TIME', help: 'items stored at or after YYYY-MM-DDThh:mm:ssZ' },
  'stored-before': { kind: 'text', value: 'TIME', help: 'items stored before YYYY-MM-DDThh:mm:ssZ' },
  ...PASSPHRASE_FILE,
  out: { kind: 'text', value: 'FILE', help: 'a new file instead of standard output' },
} as const;

const readBody = compileJsonBody(ExportRequest, { refuseUnknown: true, parameters: [] });

/** Returns the request of the options; rejects it as the API would. */
function requestOf(options: Values<typeof OPTIONS>): ExportRequest {
  const body = {
    user: options.key,
    recipients: options.recipient,
    reference_prefix: options['reference-prefix'],
    stored_after: options['stored-after'],
    stored_before: options['stored-before'],
  };
  try {
    // Compiled from the schema of the type.
    return readBody(Buffer.from(JSON.stringify(body))) as ExportRequest;
  } catch (error) {
    throw error instanceof VaultError ? new CommandError(error.message, 2) : error;
  }
}

/** Writes the export; `report` receives the number of items so far. */
async function writeExport(
  needs: Needs,
  options: Values<typeof OPTIONS>,
  output: Output,
  report: (count: number) => void,
): Promise<void> {
  const passphrase = await readPassphrase(options['passphrase-file']);
  const ctx = await contextOf(needs, options);
  if (!ctx.account.unmasked) {
    throw new CommandError(
      'This account sees numbers masked, and an export has them whole: allow that with vault account set NAME --unmasked.',
      1,
    );
  }
  const file = await needs.exports.exportItems(ctx, { ...requestOf(options), passphrase, onItems: report });
  for await (const piece of file) {
    await output.write(piece);
  }
  await output.commit();
}

/** `vault export`. A file has its name only when it is complete; before that it is `FILE.part-…`. */
export const exportCommand = defineCommand({
  words: ['export'],
  options: OPTIONS,
  summary: 'Writes the items of a vault key as a file in the age format, which only its recipients can open.',
  audit: {
    action: 'vault.export',
    account: 'option',
    object: ({ key }) => `key/${key}`,
  },
  opens: 'vault',
  check({ options }) {
    checkAccount(options);
    requestOf(options);
    if (options.out === undefined && process.stdout.isTTY) {
      throw new CommandError('Give --out FILE, or redirect standard output: the file is no text.', 2);
    }
  },
  async run({ options, output, progress }, needs: Needs) {
    const file = await output(options.out);
    const shown = progress('Exporting', 'items');
    let items = 0;
    const report = (count: number): void => {
      items = count;
      shown.at(count);
    };
    await withCommandErrors(() => writeExport(needs, options, file, report));
    shown.end();
    return options.out === undefined
      ? undefined
      : {
          data: { file: options.out, items },
          shown: `Exported ${items} ${items === 1 ? 'item' : 'items'} to ${options.out}.`,
        };
  },
});
