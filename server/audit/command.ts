import type { Accounts } from '../account/accounts.ts';
import { type CommandCall, CommandError, defineCommand, type Table, type Values } from '../cli/command.ts';
import { readTextFile } from '../cli/file.ts';
import { checkSigningKey, existing, SIGNING_KEY } from '../cli/operator.ts';
import type { Clock } from '../core/clock.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import { parseFilterTime } from '../domain/text/time.ts';
import type { HeadsStore } from '../log-heads/store.ts';
import {
  type HeadsReason,
  type HeadsReport,
  parseHeadsCheckpoint,
  verifyHeads,
} from '../log-heads/verify.ts';
import type { SinkEvent } from '../sink/event.ts';
import type { WantedEvents } from '../sink/stream-all.ts';
import type { AuditListing } from './listing.ts';
import { type AuditFault, type AuditVerifier, type ChainReport, parseCheckpoint } from './verifier.ts';

const EXPORT = {
  account: { kind: 'text', value: 'NAME', help: 'the log of this account; default: the log of the operator' },
  'account-id': {
    kind: 'text',
    value: 'ID',
    help: 'the log of the account with this internal id, such as a deleted one',
  },
  after: { kind: 'text', value: 'TIME', help: 'entries at or after YYYY-MM-DDThh:mm:ssZ' },
  before: { kind: 'text', value: 'TIME', help: 'entries before YYYY-MM-DDThh:mm:ssZ' },
  to: { kind: 'text', value: 'FILE', help: 'a new file instead of standard output' },
} as const;

/** The time of an option, ms since 1970; rejects an invalid one. */
function timeOf(name: 'after' | 'before', options: Values<typeof EXPORT>): number | undefined {
  const text = options[name];
  const time = text === undefined ? undefined : parseFilterTime(text);
  if (text !== undefined && time === undefined) {
    throw new CommandError(`--${name} must be a time such as 2026-01-31T12:00:00Z.`, 2);
  }
  return time;
}

interface AccountNeeds {
  readonly accounts: Accounts;
}

/** The account whose log is exported; empty for the log of the operator. */
async function aidOf({ accounts }: AccountNeeds, { account, 'account-id': id = '' }: Values<typeof EXPORT>) {
  return account === undefined ? id : existing(await accounts.read(account)).aid;
}

/** `vault audit export`. Reading a log is itself recorded (PCI DSS 10.2.1.3). */
const exportAudit = defineCommand({
  words: ['audit', 'export'],
  options: EXPORT,
  summary: 'Writes a security log as JSON, one entry per line, newest first.',
  audit: { action: 'audit.read' },
  opens: 'vault',
  check({ options }) {
    timeOf('after', options);
    timeOf('before', options);
    if (options.account !== undefined && options['account-id'] !== undefined) {
      throw new CommandError('Give --account or --account-id, not both.', 2);
    }
  },
  async run(
    { options, output }: CommandCall<typeof EXPORT>,
    { accounts, auditListing }: AccountNeeds & { readonly auditListing: AuditListing },
  ) {
    const aid = await aidOf({ accounts }, options);
    const out = await output(options.to);
    const filter = { after: timeOf('after', options), before: timeOf('before', options) };
    for await (const entries of auditListing.walk(aid, filter)) {
      await out.write(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    }
    await out.commit();
    return undefined;
  },
});

const STREAM = {
  account: { kind: 'text', value: 'NAME', help: 'events of this account alone' },
  after: EXPORT.after,
} as const;

interface StreamNeeds extends AccountNeeds {
  readonly streamAll: (
    wanted: WantedEvents,
    write: (events: readonly SinkEvent[]) => Promise<void>,
  ) => Promise<boolean>;
}

/** `vault audit stream`: the deliveries of `VAULT_AUDIT_SINK`, for earlier events. */
const streamAudit = defineCommand({
  words: ['audit', 'stream'],
  options: STREAM,
  summary: 'Prints all access events as JSON, one per line, oldest first in each log.',
  audit: { action: 'audit.read' },
  opens: 'vault',
  check({ options }) {
    timeOf('after', options);
  },
  async run({ options, output }: CommandCall<typeof STREAM>, needs: StreamNeeds) {
    const aid = options.account === undefined ? undefined : await aidOf(needs, options);
    const out = await output();
    const wanted = { aid, after: timeOf('after', options) };
    const isWhole = await needs.streamAll(wanted, (events) =>
      out.write(events.map(({ text }) => `${text}\n`).join('')),
    );
    if (!isWhole) {
      throw new CommandError('Some logs could not be read: run vault verify.', 1);
    }
    await out.commit();
    return undefined;
  },
});

const DESCRIPTIONS: Readonly<Record<AuditFault, string>> = {
  missing: 'is missing',
  damaged: 'failed its integrity check',
  broken: 'does not follow the previous entry',
  replaced: 'does not match a checkpoint',
  cut: 'is missing, but a checkpoint proves that it existed',
  foreign: 'is after the end of the log',
  head: 'is unknown: the record of the ends of the log failed its integrity check',
};

/** Descriptions of invalid records of the lengths of item logs. */
const HEADS_DESCRIPTIONS: Readonly<Record<HeadsReason, string>> = {
  damaged: 'failed their integrity check',
  older: 'are older than a checkpoint',
  replaced: 'do not match a checkpoint',
  forked: 'were replaced: two checkpoints contradict each other',
};

/** A log and, for an account that exists, the report on its item logs. */
type LogReport = ChainReport & { readonly item_logs?: HeadsReport };

async function checkpointsOf(path: string | undefined) {
  const lines = path === undefined ? [] : (await readTextFile(path)).split('\n');
  // The file may be a complete server log: lines without a signature are ignored.
  return {
    given: lines.map((line) => parseCheckpoint(line)).filter((checkpoint) => checkpoint !== undefined),
    heads: lines.map((line) => parseHeadsCheckpoint(line)).filter((checkpoint) => checkpoint !== undefined),
  };
}

function tableOf(reports: readonly LogReport[], names: ReadonlyMap<string, string>): Table {
  return {
    columns: ['Log', 'First', 'Last', 'Checkpoints', 'State', 'Item logs'],
    rows: reports.map(({ account, first, last, checkpoints, fault, item_logs }) => [
      account === '' ? '(operator)' : (names.get(account) ?? account),
      String(first),
      String(last),
      String(checkpoints),
      fault === undefined ? 'valid' : `entry ${fault.sequence} ${DESCRIPTIONS[fault.reason]}`,
      item_logs?.fault === undefined ? String(item_logs?.logs ?? 0) : HEADS_DESCRIPTIONS[item_logs.fault],
    ]),
  };
}

interface VerifyNeeds extends AccountNeeds {
  readonly headsStore: HeadsStore;
  readonly crypto: Crypto;
  readonly auditVerifier: AuditVerifier;
  readonly settings: ServiceSettings;
  readonly now: Clock;
}

/** `vault audit verify`. Exit code 1 if a log, or the record of item logs, is damaged, truncated or unlike a checkpoint. */
const verifyAudit = defineCommand({
  words: ['audit', 'verify'],
  options: {
    checkpoints: {
      kind: 'text',
      value: 'FILE',
      help: 'checkpoints that were stored elsewhere, or a log of the server',
    },
    'signing-key': SIGNING_KEY,
  },
  summary: 'Verifies every security log, and names the first invalid entry.',
  opens: 'vault',
  async run({ options, progress }, needs: VerifyNeeds) {
    const { accounts, auditVerifier, crypto, headsStore, settings, now } = needs;
    await checkSigningKey({ crypto }, options['signing-key']);
    const { given, heads } = await checkpointsOf(options.checkpoints);
    const chains = await auditVerifier.chains(given);
    const retention = settings.auditRetentionMs;
    // Entries older than the retention may be missing.
    const keptSince = retention === 0 ? 0 : now() - retention;
    const shown = progress('Verifying', 'logs', chains.length);
    const names = new Map((await accounts.list()).map(({ aid, name }) => [aid, name]));
    const reports: LogReport[] = [];
    for (const aid of chains) {
      const report = await auditVerifier.verify(aid, given, keptSince);
      const item_logs = names.has(aid) && (await verifyHeads(headsStore, crypto, aid, heads));
      reports.push(item_logs ? { ...report, item_logs } : report);
      shown.at(reports.length);
    }
    shown.end();
    const failed = reports.some(({ fault, item_logs }) => (fault ?? item_logs?.fault) !== undefined);
    return { data: reports, shown: tableOf(reports, names), failed };
  },
});

/** `vault audit key`: an Ed25519 public key in PEM, to verify checkpoints without the vault. */
const auditKey = defineCommand({
  words: ['audit', 'key'],
  options: {},
  summary: 'Prints the public key for the signatures of checkpoints of security logs.',
  opens: 'vault',
  async run(_call, { crypto }: { readonly crypto: Crypto }) {
    const public_key = await crypto.auditKey();
    return { data: { public_key }, shown: public_key.trimEnd() };
  },
});

export const auditCommands = [exportAudit, streamAudit, verifyAudit, auditKey];
