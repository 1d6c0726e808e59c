import { CommandError, defineCommand, type Table } from '../../cli/command.ts';
import { checkSigningKey, SIGNING_KEY } from '../../cli/operator.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { Verification } from '../report.ts';
import { keyTable } from '../rotate/command.ts';
import type { Verifier } from './verify.ts';

interface Needs {
  readonly crypto: Crypto;
  readonly verifier: Verifier;
}

function kindTable({ checked, bad, unfinished }: Verification): Table {
  const all = [checked, bad, unfinished];
  const kinds = new Set(all.flatMap((counts) => Object.keys(counts)));
  return {
    columns: ['Kind', 'Checked', 'Bad', 'Unfinished'],
    rows: [...kinds].map((kind) => [kind, ...all.map((counts) => String(counts[kind] ?? 0))]),
  };
}

/** The first faults; no table if there are none. */
function faultTable({ faults }: Verification): Table[] {
  const rows = faults.map(({ state, kind, account, place, what }) => [state, kind, account, place, what]);
  const columns = ['State', 'Kind', 'Account', 'Place', 'What'];
  return rows.length === 0 ? [] : [{ heading: 'Faults', columns, rows }];
}

/** `vault verify`. Exit code 1 if a record is damaged, but not for unfinished records, which the sweep completes. */
export const verifyCommand = defineCommand({
  words: ['verify'],
  options: {
    account: { kind: 'text', value: 'NAME', help: 'verifies one account alone' },
    'signing-key': SIGNING_KEY,
  },
  summary:
    'Verifies every record and index while servers run, without a passphrase, and names what is damaged, with exit code 1.',
  opens: 'vault',
  async run({ options, progress }, { crypto, verifier }: Needs) {
    await checkSigningKey({ crypto }, options['signing-key']);
    const shown = progress('Verifying', 'records');
    let seen = 0;
    const found = await verifier.verify(options.account, (records) => {
      seen += records;
      shown.at(seen);
    });
    shown.end();
    if (found === undefined) {
      throw new CommandError('No account has this name.', 1);
    }
    const bad = Object.values(found.bad).reduce((sum, count) => sum + count, 0);
    const remarks =
      found.scanned || options.account !== undefined
        ? []
        : ['This Redis forbids SCAN: keys that no directory contains were not verified.'];
    return {
      data: { ok: bad === 0, ...found },
      shown: [
        kindTable(found),
        keyTable(found.keys),
        ...faultTable(found),
        ...remarks,
        bad === 0 ? 'No faults found.' : `Faults found: ${bad}.`,
      ],
      failed: bad > 0,
    };
  },
});
