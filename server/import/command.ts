import { createHash } from 'node:crypto';
import {
  type CommandCall,
  CommandError,
  defineCommand,
  type Progress,
  type Result,
  type Values,
} from '../cli/command.ts';
import { PASSPHRASE_FILE, readPassphrase } from '../cli/file.ts';
import {
  ACCOUNT,
  checkAccount,
  contextOf,
  keyOption,
  type OperatorNeeds,
  withCommandErrors,
} from '../cli/operator.ts';
import type { Events } from '../event/events.ts';
import type { StoreBatches } from '../vault/batch/store-batch.ts';
import { parseMap } from './columns.ts';
import { checkRows, importRows } from './importer.ts';
import { openSource, type SourceOptions, STANDARD_INPUT } from './source.ts';
import { openJournal } from './state.ts';

interface Needs extends OperatorNeeds {
  readonly storeBatches: StoreBatches;
  readonly events: Events;
}

const OPTIONS = {
  ...ACCOUNT,
  key: keyOption('the vault key that the items are stored under'),
  format: { kind: 'text', value: 'FORMAT', help: 'csv, ndjson or age (by the name of FILE)' },
  map: {
    kind: 'list',
    value: 'NAME=COLUMN,…',
    help: 'which column of a CSV file, or dotted name in lines of JSON, becomes which part of an item (those of the same name); double quotes around one that has a comma',
  },
  delimiter: { kind: 'text', value: 'CHARACTER', help: 'what separates the fields of a CSV file (,)' },
  identity: { kind: 'text', value: 'FILE', help: 'the file of the age identity that opens FILE' },
  tokens: { kind: 'text', value: 'keep', help: 'tokens of another vault stay as they are (new ones)' },
  'skip-empty': { kind: 'flag', help: 'rows without a number are counted and refuse nothing' },
  compact: { kind: 'flag', help: 'spaces and dashes are removed from numbers' },
  'dry-run': { kind: 'flag', help: 'checks all lines and stores nothing' },
  state: { kind: 'text', value: 'PATH', help: 'writes PATH.import and PATH.errors (those of FILE)' },
  ...PASSPHRASE_FILE,
} as const;
type Options = Values<typeof OPTIONS>;

const FORMATS = ['csv', 'ndjson', 'age'] as const;
/** Rejected lines that a dry run shows. */
const SHOWN_MAX = 20;

/** Reads the options of the file. Throws for options that do not fit together. */
function readOptions(path: string, options: Options): SourceOptions {
  const { identity, delimiter = ',', map, tokens } = options;
  const named = options.format ?? /\.([a-z]+)$/.exec(path)?.[1];
  const format = FORMATS.find((known) => known === named);
  const check = (message: string, isMet: boolean): void => {
    if (!isMet) {
      throw new CommandError(message, 2);
    }
  };
  if (format === undefined) {
    throw new CommandError('Give the format with --format csv, ndjson or age.', 2);
  }
  const isCharacter = [...delimiter].length === 1 && delimiter !== '"';
  const isAge = format === 'age';
  check('Give --identity FILE with an age file, and only with one.', isAge === (identity !== undefined));
  check('--delimiter is for CSV files.', format === 'csv' || options.delimiter === undefined);
  check('--delimiter must be one character, such as ; or a tab.', isCharacter);
  check('--tokens must be keep.', tokens === undefined || tokens === 'keep');
  if (path === STANDARD_INPUT) {
    const hasState = options['dry-run'] === true || options.state !== undefined;
    const hasFile = options['passphrase-file'] !== undefined;
    check('Give --passphrase-file FILE: standard input is the file to import.', hasFile);
    check('Give --state PATH, where PATH.import and PATH.errors are written.', hasState);
  }
  return {
    ...{ path, format, identity, delimiter, map: map === undefined ? undefined : parseMap(map) },
    skipEmpty: options['skip-empty'],
    compact: options.compact,
  };
}

/** Returns a digest of the options that a continued import must have again. */
function digestOf({ path: _, identity: __, ...source }: SourceOptions, options: Options): string {
  const asked = { source, account: options.account, user: options.key, tokens: options.tokens };
  return createHash('sha256').update(JSON.stringify(asked)).digest('hex');
}

function counted(count: number, what: string): string {
  return `${count.toLocaleString('en-GB')} ${what}${count === 1 ? '' : 's'}`;
}

/** The lines about skipped rows, and about paths of the map that no line had. */
function remarksOf(skipped: number, missing: readonly string[]): readonly string[] {
  return [
    ...(skipped === 0
      ? []
      : [`${counted(skipped, 'row')} without a number ${skipped === 1 ? 'was' : 'were'} skipped.`]),
    ...(missing.length === 0 ? [] : [`No line of FILE has ${missing.join(', ')}: check --map.`]),
  ];
}

function checkResult(
  { rows, skipped, rejected }: Awaited<ReturnType<typeof checkRows>>,
  missing: readonly string[],
): Result {
  const more = rejected.length > SHOWN_MAX ? `, of which the first ${SHOWN_MAX} are` : '';
  const table = {
    columns: ['Line', 'Code', 'Reason'],
    rows: rejected.slice(0, SHOWN_MAX).map(({ line, code, error }) => [String(line), code, error]),
  };
  return {
    data: { rows, refused: rejected.length, skipped },
    shown: [
      ...remarksOf(skipped, missing),
      ...(rejected.length === 0
        ? [`All ${counted(rows - skipped, 'row')} can be imported. Nothing was stored.`]
        : [`${counted(rejected.length, 'row')} of ${counted(rows, 'row')} would be refused${more}:`, table]),
    ],
    failed: rejected.length > 0,
  };
}

/** Shows the progress of an import; the total is estimated from the part of the file that was read. */
function reporter(shown: Progress, share: () => number | undefined): (rows: number) => void {
  return (rows) => {
    const read = share();
    shown.at(rows, read === undefined || read === 0 ? undefined : Math.max(rows, Math.round(rows / read)));
  };
}

async function runImport(
  { argument: path, options, progress }: CommandCall<typeof OPTIONS>,
  needs: Needs,
): Promise<Result> {
  const asked = readOptions(path, options);
  const passphrase = await readPassphrase(options['passphrase-file']);
  const ctx = await contextOf(needs, options);
  const input = {
    user: options.key ?? '',
    passphrase,
    imported: { keepsTokens: options.tokens === 'keep' },
  };
  const target = { batches: needs.storeBatches, events: needs.events, ctx, input };
  const { rows, end, share, missingPaths } = await openSource(asked);
  if (options['dry-run']) {
    const shown = progress('Checking', 'rows');
    const checked = await checkRows(target, rows, reporter(shown, share));
    shown.end();
    return checkResult(checked, missingPaths());
  }
  // A wrong key or passphrase is reported before there is a file with the options of this command line.
  await needs.storeBatches.checkMany(ctx, input, []);
  const statePath = options.state ?? path;
  const journal = await openJournal(statePath, digestOf(asked, options));
  const shown = progress('Importing', 'rows');
  await importRows(target, rows, journal, reporter(shown, share));
  shown.end();
  const { items, replaced, refused, skipped = 0 } = journal.state;
  const replacedText =
    replaced === 0 ? '' : `, ${replaced.toLocaleString('en-GB')} of them in place of another`;
  const complete = asked.format === 'csv' || end.isWhole;
  return {
    data: { items, replaced, refused, skipped, complete },
    shown: [
      `Imported ${counted(items, 'item')}${replacedText}.`,
      ...remarksOf(skipped, missingPaths()),
      ...(refused === 0 ? [] : [`${counted(refused, 'row')} refused: see ${statePath}.errors.`]),
      ...(complete ? [] : ['FILE has no last line with a count: it may have been cut.']),
    ].join('\n'),
    failed: refused > 0,
  };
}

/** `vault import FILE`. Continues an interrupted import when it is called again. */
export const importCommand = defineCommand({
  words: ['import'],
  argument: 'FILE',
  options: OPTIONS,
  summary:
    'Stores the rows of a CSV file, or the lines of an export, under a vault key; - is standard input.',
  audit: {
    action: 'vault.import',
    account: 'option',
    object: ({ key }) => `key/${key}`,
  },
  opens: 'vault',
  check({ argument, options }) {
    checkAccount(options);
    if (options.key === undefined) {
      throw new CommandError('Give the key with --key NAME.', 2);
    }
    readOptions(argument, options);
  },
  run: (call, needs: Needs) => withCommandErrors(() => runImport(call, needs)),
});
