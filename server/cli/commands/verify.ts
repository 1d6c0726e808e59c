import { createVerification, type Verification } from '../../services/maintenance/verify.ts';
import { CommandError, defineCommand, type Table } from './command.ts';
import { keyTable } from './rotate.ts';

const kindTable = ({ checked, bad, unfinished }: Verification): Table => ({
  columns: ['Kind', 'Checked', 'Bad', 'Unfinished'],
  rows: [...new Set([checked, bad, unfinished].flatMap((counts) => Object.keys(counts)))].map((kind) => [
    kind,
    ...[checked, bad, unfinished].map((counts) => String(counts[kind] ?? 0)),
  ]),
});

const faultTable = ({ faults }: Verification): Table[] =>
  faults.length === 0
    ? []
    : [
        {
          heading: 'Faults',
          columns: ['State', 'Kind', 'Account', 'Place', 'What'],
          rows: faults.map(({ state, kind, account, place, what }) => [state, kind, account, place, what]),
        },
      ];

const totalOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

const verify = defineCommand({
  words: ['verify'],
  options: { account: { kind: 'text', value: 'NAME', help: 'verifies only this account' } },
  summary:
    'Verifies every record and index, without passphrases, while servers run; names faults and exits with 1 if there are any.',
  opens: 'vault',
  async run({ options, progress }, { vault }) {
    const shown = progress('Verifying', 'records');
    let seen = 0;
    const { crypto, masterKeys, now, stores } = vault;
    const found = await createVerification({ crypto, masterKeys, now, ...stores })(
      options.account,
      (records) => {
        seen += records;
        shown.at(seen);
      },
    );
    shown.end();
    if (found === undefined) {
      throw new CommandError('No account has this name.', 1);
    }
    const bad = totalOf(found.bad);
    const notes =
      found.scanned || options.account !== undefined
        ? []
        : ['This Redis forbids SCAN: keys that no directory contains were not verified.'];
    return {
      data: { ok: bad === 0, ...found },
      shown: [
        kindTable(found),
        keyTable(found.keys),
        ...faultTable(found),
        ...notes,
        bad === 0 ? 'No faults found.' : `Faults found: ${bad}.`,
      ],
      failed: bad > 0,
    };
  },
});

/** The command `verify`. */
export const verifyCommands = [verify];
