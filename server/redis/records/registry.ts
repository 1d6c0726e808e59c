import type { DirectoryEntry, Flaw, Listed, Owner, RecordKind, Seal, Sealed, Stored } from './kind.ts';
import {
  type AccountName,
  accountName,
  accountNames,
  bucketName,
  bucketNames,
  idName,
  idNames,
  vaultName,
  vaultNames,
} from './name.ts';

/** The nonce of an attempt that no process makes any more: whether its request was sent is unknown. */
const UNKNOWN_FLIGHT = 'restored';

const keyDirectory = accountName('keys');
const jobDirectory = accountName('j');
const endedJobDirectory = accountName('y');
const eventJobDirectory = accountName('o');
const endedEventJobDirectory = accountName('p');
const endpointDirectory = accountName('e');
const formDirectory = accountName('h');
const csrs = accountName('q');
const csrKeys = accountName('qk');

function bad(label: string, what: string): Flaw {
  return { label, what, state: 'bad' };
}

function unfinished(label: string, what: string): Flaw {
  return { label, what, state: 'unfinished' };
}

function sealOf(label: string, { aid, id }: Owner): Seal {
  return { label, place: { purpose: 'record', account: aid, kind: label, path: [id] } };
}

/** Every field of the hash is a record of this kind, with the field name as its id. */
function entriesOf(label: string): Sealed {
  return { kind: 'entries', seal: (owner) => sealOf(label, owner) };
}

/** These fields of a hash are records of the kinds given with them; `others` are read as well. */
function fieldsOf(labels: Readonly<Record<string, string>>, ...others: readonly string[]): Sealed {
  return {
    kind: 'fields',
    reads: [...Object.keys(labels), ...others],
    seals: (owner) => Object.entries(labels).map(([field, label]) => ({ field, ...sealOf(label, owner) })),
  };
}

/** One field of a hash of the vault is a record with this id. */
function onlyField(field: string, label: string, id: string): Sealed {
  const seal = { field, ...sealOf(label, { aid: '', id }) };
  return { kind: 'fields', reads: [field], seals: () => [seal] };
}

/** The entries of a security log, by sequence number, and two other encrypted fields. */
function auditSeal({ aid, id }: Owner): Seal | undefined {
  const mark = { h: 'head', o: 'start' }[id];
  const label = 'security log';
  if (mark !== undefined) {
    return { label, place: { purpose: 'audit', account: aid, kind: `${label} ${mark}`, path: [mark] } };
  }
  return /^\d+$/.test(id)
    ? { label, place: { purpose: 'audit', account: aid, kind: label, path: [id] } }
    : undefined;
}

/** The next step of a job, and the reply of its last attempt if that is stored. */
function jobSeals({ aid, id }: Owner, stored: Stored): readonly (Seal & { readonly field: string })[] {
  const of = (field: string, label: string, phase: string) => ({
    field,
    label,
    place: { purpose: 'job', account: aid, kind: `proxy ${phase}`, path: [id] } as const,
  });
  return [of('r', 'job', stored.get('p')?.toString() ?? ''), of('l', 'job reply', 'tell')];
}

function jobFlaw(stored: Stored): Flaw | undefined {
  const [phase, attempts] = [stored.get('p')?.toString() ?? '', stored.get('n')?.toString() ?? ''];
  return ['send', 'tell', 'event'].includes(phase) && /^\d{1,15}$/.test(attempts)
    ? undefined
    : bad('job', 'its phase or its attempts are not what a server writes');
}

/** Replies of versions that did not store the account are omitted; they expire. */
function replySeals({ id }: Owner, stored: Stored): readonly (Seal & { readonly field: string })[] {
  const account = stored.get('a')?.toString();
  return account === undefined
    ? []
    : [{ field: 'r', label: 'reply', place: { purpose: 'idem', account, kind: 'reply', path: [id] } }];
}

/** A restored job that may have been sent. As an interrupted attempt it is sent again only if that is harmless. */
function interrupted(stored: Stored): Stored {
  if (stored.get('p')?.toString() !== 'send') {
    return stored;
  }
  const attempts = Math.max(1, Number(stored.get('n') ?? 0));
  return new Map([...stored, ['f', Buffer.from(UNKNOWN_FLIGHT)], ['n', Buffer.from(String(attempts))]]);
}

/** A restored idempotency key. Without a reply it counts as sent, so a repetition does not send it again. */
function maybeSent(stored: Stored): Stored {
  return stored.has('r') || stored.has('o')
    ? stored
    : new Map([...stored, ['o', Buffer.from(UNKNOWN_FLIGHT)]]);
}

/** Reads an entry of the endpoint directory; undefined for any other text. */
export function endpointEntry(
  member: string,
):
  | (DirectoryEntry & { readonly kid: string; readonly kind: 'capture' | 'retrieve' | 'inbound' })
  | undefined {
  const [kid = '', kind, nonce = '', id, ...rest] = member.split(' ');
  const isKind = kind === 'capture' || kind === 'retrieve' || kind === 'inbound';
  return !isKind || id === undefined || rest.length > 0 ? undefined : { kid, kind, nonce, id };
}

/** A directory whose members are ids. */
function idsIn(directory: AccountName, order: Listed['order'], missing?: Flaw): Listed {
  return { directory, order, entryOf: (id) => ({ id, nonce: '' }), ...(missing && { missing }) };
}

/** The key that an endpoint belongs to: live endpoints are grouped by it. */
function liveEntry(member: string): DirectoryEntry | undefined {
  const kid = endpointEntry(member)?.kid;
  return kid === undefined ? undefined : { id: kid, nonce: '' };
}

/** Reads an entry of the form directory; undefined for any other text. */
export function formEntry(member: string): DirectoryEntry | undefined {
  const [nonce = '', id, ...rest] = member.split(' ');
  return id === undefined || rest.length > 0 ? undefined : { nonce, id };
}

/**
 * Every kind of key in Redis. Names, verification, re-encryption, backup and census follow from an entry. A new kind
 * is an entry here, and the store that reads and writes it. In a backup, kinds of one phase are copied in this order.
 */
export const RECORD_KINDS = {
  /** Hash: facts fixed when the vault was first opened (`root`, `buckets`), and `restoring`. */
  installation: {
    name: vaultName('vault'),
    sealed: onlyField('root', 'root', 'root'),
    last: true,
    backup: 'own',
  },
  /** Hash: id of a running server -> end of its lease in ms, and its entry. */
  servers: { name: vaultName('servers'), backup: 'none' },
  /** Hash: dropped codes that are no longer in the append-only files, see `vault/store/sad-rewrite.ts`. */
  rewrite: { name: vaultName('rewrite'), backup: 'none' },
  /** String: the server that rewrites now. */
  rewriteLease: { name: vaultName('rewrite', 'lease'), backup: 'none' },
  /** String: how many things expire soon, see `expiring/store.ts`; it expires when no server counts. */
  expiring: { name: vaultName('expiring'), backup: 'none' },
  /** String: set while one server counts them, and until they are to be counted again. */
  expiringLease: { name: vaultName('expiring', 'lease'), backup: 'none' },
  /** String: when the newest complete backup began, in ms. A restored vault has had none. */
  lastBackup: { name: vaultName('backup'), backup: 'none' },
  /** Hash: account name -> sealed account record. */
  accounts: { name: vaultName('accounts'), sealed: entriesOf('account'), backup: 'own' },
  /** Set: ids of deleted accounts whose keys are still being removed. */
  goneAccounts: { name: vaultName('accounts', 'gone'), backup: 'own' },
  /** Hash: name of a deleted account -> when it was deleted last, in ms. */
  formerAccounts: { name: vaultName('accounts', 'former'), backup: 'own' },
  /** String: set while the account is deleted: it gets no key any more. */
  closedAccount: { name: accountName('closed'), outlives: true, backup: 'none' },
  /** Strings: wrong passwords or passphrases by account or key and by source, and a success of the source; names are hashes. */
  guesses: { name: idNames('f'), backup: 'none' },
  /** String: the time in us at which the counted requests of one source are used up (GCRA); the source is hashed. */
  sourceRate: { name: idName('s'), backup: 'none' },
  /** String: the same for a source at an endpoint. */
  endpointRate: { name: idName('q'), backup: 'none' },
  /** String: the same for an account. */
  accountRate: { name: accountName('m'), backup: 'none' },
  /** String: the same for the rate that the account has of its own. */
  ownRate: { name: accountName('mo'), backup: 'none' },
  /** String: sealed key record. */
  keyRecord: {
    name: accountNames('k:'),
    sealed: { kind: 'value', seal: (owner) => sealOf('key', owner) },
    listed: idsIn(keyDirectory, 'member', bad('key', 'the directory names it, and it is not there')),
    backup: 'own',
  },
  /** String: sealed recovery of a key; only of keys that have one. */
  recovery: {
    name: accountNames('kr:'),
    sealed: { kind: 'value', seal: (owner) => sealOf('recovery', owner) },
    listed: idsIn(keyDirectory, 'member'),
    backup: 'own',
  },
  /** Sorted set: the account's key identifiers. */
  keyDirectory: { name: keyDirectory, backup: 'own' },
  /** Set: ids of deleted keys whose buckets are not empty yet. They have no record, so nothing of them is copied. */
  purge: { name: accountName('purge'), backup: 'none' },
  /** Set: passphrase changes whose fences and endpoints may be unfinished, as `kid gen`. A restore finishes all. */
  keyChanges: { name: accountName('c'), backup: 'none' },
  /** Hash: the progress of the newest reseal of a key, by its id. A restored vault has had none. */
  reseal: { name: accountNames('rs:'), backup: 'none' },
  /** String: the run that does it now. */
  resealLease: { name: accountNames('rl:'), backup: 'none' },
  /** Hash: operation -> count, for one month (`YYYY-MM`). */
  usage: { name: accountNames('u:'), backup: 'own' },
  /** String: names of the counts of buckets that were last added to those of the account, see `request/folding.ts`. */
  usageFold: { name: accountName('uf'), backup: 'none' },
  /** Hash: the account's security log: sequence -> sealed entry, and `h` head, `o` start, `w` writers. */
  auditChain: {
    name: accountName('log'),
    sealed: { kind: 'entries', seal: auditSeal },
    outlives: true,
    backup: 'own',
  },
  /** Hash: account id of every security log -> its newest checkpoint, or empty. */
  auditChains: { name: vaultName('audit'), backup: 'own' },
  /**
   * Hash: key id -> its buckets' recorded heads of logs, `!` and key id -> proof of its deletion, `m` sealed mark. Not
   * copied, like the heads of buckets: a restored vault records its logs anew.
   */
  accountHeads: { name: accountName('heads'), backup: 'none' },
  /** Hash: account id -> newest checkpoint of the heads of its logs. */
  headsCheckpoints: { name: vaultName('audit', 'heads'), backup: 'none' },
  /** Hash: account id of a security log -> sequence number of its last entry that was delivered to the sink. */
  sinkPositions: { name: vaultName('sink'), backup: 'none' },
  /** Set: buckets that may have entries to deliver, as `aid kid number`. */
  sinkBuckets: { name: vaultName('sink', 'buckets'), backup: 'none' },
  /** String: the server that delivers. */
  sinkLease: { name: vaultName('sink', 'lease'), backup: 'none' },
  /** String: changes of the account's password within a minute. */
  passwordChanges: { name: accountName('w'), backup: 'none' },
  /** Hash: rule id -> sealed rule. */
  rules: { name: accountName('r'), sealed: entriesOf('rule'), backup: 'whole' },
  /** Hash: connection id -> sealed connection. */
  connections: { name: accountName('cn'), sealed: entriesOf('connection'), backup: 'whole' },
  /** Hash: id -> sealed API credential. */
  credentials: { name: accountName('v'), sealed: entriesOf('credential'), backup: 'whole' },
  /** Hash: id of a credential -> when it was used last, in ms. */
  credentialUses: { name: accountName('vu'), backup: 'whole' },
  /** The same for the credentials of the operator, which belong to no account. */
  operatorCredentials: { name: vaultName('operator'), sealed: entriesOf('credential'), backup: 'whole' },
  operatorCredentialUses: { name: vaultName('operator', 'uses'), backup: 'whole' },
  /** Hash: digest of a credential's secret -> account id, credential id, time in ms. Copied last: each record's is there. */
  credentialSecrets: { name: vaultName('credentials'), backup: 'whole' },
  /** Hash: id -> sealed person. */
  persons: { name: accountName('ps'), sealed: entriesOf('person'), backup: 'whole' },
  /** Hash: id of a person -> when it was there last, in ms. */
  personUses: { name: accountName('pu'), backup: 'whole' },
  /** Hash: digest of a passkey's id or of an invitation -> account id, person id, time in ms. Copied after the records. */
  personPointers: { name: vaultName('persons'), backup: 'whole' },
  /** Hash: id of a person -> the passphrases that it keeps under its passkeys, sealed. */
  passphraseWraps: { name: accountName('pw'), sealed: entriesOf('passphrase wraps'), backup: 'whole' },
  /** String: a challenge of a passkey or of a sign-in at the provider that was used, by its digest, until it has expired. */
  challenge: { name: idName('c'), backup: 'none' },
  /** Hash: the session of a person by the digest of its token: `r` sealed record, `u` last use in ms, `n` network. It expires. */
  session: { name: idName('n'), sealed: fieldsOf({ r: 'session' }), backup: 'none' },
  /** Hash: id -> sealed certificate signing request. */
  csrs: {
    name: csrs,
    sealed: entriesOf('csr'),
    pair: { name: csrKeys, flaw: bad('csr', 'its private key is not there') },
    backup: 'whole',
  },
  /** Hash: id of a request -> its sealed private key. */
  csrKeys: {
    name: csrKeys,
    sealed: entriesOf('csr key'),
    pair: { name: csrs, flaw: bad('csr key', 'its request is not there') },
    backup: 'whole',
  },
  /** Hash: id -> sealed client certificate. */
  certificates: { name: accountName('qc'), sealed: entriesOf('certificate'), backup: 'whole' },
  /** Sorted set: the account's jobs by their time of creation, in ms. */
  jobDirectory: { name: jobDirectory, backup: 'directory' },
  /** Hash: a job, or with `k` alone the reserved id of a finished one. With an empty id the common prefix. */
  job: {
    name: accountNames('j:'),
    sealed: { kind: 'fields', reads: ['p', 'r', 'n', 'l'], seals: jobSeals },
    listed: idsIn(jobDirectory, 'score', bad('job directory', 'an entry has no job')),
    check: jobFlaw,
    backup: 'listed',
    isUnlisted: true,
    restored: interrupted,
  },
  /** Sorted set: the account's jobs that have ended, by their time of creation, in ms. */
  endedJobDirectory: { name: endedJobDirectory, backup: 'directory' },
  /** Hash: a job that has ended. With an empty id the common prefix. */
  endedJob: {
    name: accountNames('y:'),
    sealed: { kind: 'fields', reads: ['p', 'r', 'n'], seals: jobSeals },
    listed: idsIn(endedJobDirectory, 'score', unfinished('job directory', 'an entry has no job')),
    check: jobFlaw,
    backup: 'listed',
  },
  /** Sorted sets and hashes: the same for deliveries of events, which take no room of other jobs. */
  eventJobDirectory: { name: eventJobDirectory, backup: 'deliveries' },
  eventJob: {
    name: accountNames('o:'),
    sealed: { kind: 'fields', reads: ['p', 'r', 'n'], seals: jobSeals },
    listed: idsIn(eventJobDirectory, 'score', bad('job directory', 'an entry has no job')),
    check: jobFlaw,
    backup: 'listed',
  },
  endedEventJobDirectory: { name: endedEventJobDirectory, backup: 'deliveries' },
  endedEventJob: {
    name: accountNames('p:'),
    sealed: { kind: 'fields', reads: ['p', 'r', 'n'], seals: jobSeals },
    listed: idsIn(endedEventJobDirectory, 'score', unfinished('job directory', 'an entry has no job')),
    check: jobFlaw,
    backup: 'listed',
  },
  /**
   * Sorted set: deliveries that wait for a subscription, by their time of creation, in ms; negative while they wait in store, 1e15 more
   * after a call has failed.
   */
  waitingEvents: { name: accountNames('ew:'), backup: 'own' },
  /** Hash: id -> sealed event subscription. */
  subscriptions: { name: accountName('es'), sealed: entriesOf('event subscription'), backup: 'whole' },
  /**
   * Hash: `v` version of the subscriptions, `a` sequence number of the last entry of the security log that was read, `x` time up
   * to which expiries were told, and of a subscription `f:ID` since when its receiver fails, `p:ID` since when it is paused, `w:ID`
   * why, `l:ID` events that were left out.
   */
  eventState: { name: accountName('ev'), backup: 'own' },
  /** Hash: key id -> its name, of keys whose buckets keep events. The sweep adds those of a restored copy. */
  eventKeys: { name: accountName('ek'), backup: 'none' },
  /** List: sealed events of an account that no log has, until they are queued. */
  accountOutbox: { name: accountName('eo'), backup: 'own' },
  /** Set: ids of accounts that have subscriptions. The sweep adds those of a restored copy. */
  eventAccounts: { name: vaultName('events'), backup: 'none' },
  /** Prefix of the keys of the job queue; all in one slot. */
  jobQueue: { name: vaultNames('jobs', ''), backup: 'none' },
  /** Sorted set: the account's endpoints by the time of their next check, in ms. */
  endpointDirectory: { name: endpointDirectory, backup: 'directory' },
  /** Sorted set: a key's endpoints that were not stopped, by generation. */
  liveEndpoints: {
    name: accountNames('l:'),
    listed: { directory: endpointDirectory, order: 'score', entryOf: liveEntry },
    backup: 'listed',
  },
  /**
   * Sorted sets: the account's capture endpoints, retrieval endpoints and inbounds that live long, by their end in ms. The sweep
   * adds those that a restored copy does not have.
   */
  captureEnds: { name: accountName('ec'), backup: 'whole' },
  retrieveEnds: { name: accountName('er'), backup: 'whole' },
  inboundEnds: { name: accountName('ei'), backup: 'whole' },
  /** Hash: an endpoint, or the reservation of its id. */
  endpoint: {
    name: idName('e'),
    sealed: fieldsOf({ p: 'endpoint', w: 'endpoint wrap' }, 'n', 'a', 'x', 'u', 'd', 't', 's'),
    listed: {
      directory: endpointDirectory,
      order: 'score',
      entryOf: endpointEntry,
      missing: unfinished('endpoint directory', 'an entry has no endpoint'),
      foreign: bad('endpoint directory', 'the endpoint is another account’s'),
    },
    check: (stored) =>
      stored.has('w') || stored.has('x')
        ? undefined
        : bad('endpoint wrap', 'it is gone, and the endpoint was not stopped'),
    backup: 'listed',
  },
  /** Hash: day since 1970 -> sealed key that browsers seal captures to. No stored data is under one, so it is not copied. */
  sealingKeys: { name: vaultName('sealing'), sealed: entriesOf('sealing key'), backup: 'none' },
  /** Sorted set: the account's forms by the time of their next check, in ms. */
  formDirectory: { name: formDirectory, backup: 'directory' },
  /** Hash: a hosted form, or the reservation of its id. */
  form: {
    name: idName('h'),
    sealed: fieldsOf({ s: 'form' }, 'n', 'a'),
    listed: {
      directory: formDirectory,
      order: 'score',
      entryOf: formEntry,
      missing: unfinished('form directory', 'an entry has no form'),
    },
    backup: 'listed',
  },
  /** Hash: one idempotency key of one scope, both inside the digest. */
  idempotency: {
    name: idName('d'),
    sealed: { kind: 'fields', reads: ['a', 'r'], seals: replySeals },
    backup: 'scanned',
    restored: maybeSent,
  },
  /** String: version of the active BIN table. */
  binVersion: { name: vaultName('bin', 'v'), backup: 'own' },
  /** Sorted set: segment starts -> JSON of the segment's end and issuers. */
  binTable: { name: vaultNames('bin', 't:'), backup: 'own' },
  /** Hash: the operator's certificate of compliance, sealed (`r`), and its version (`v`). */
  compliance: {
    name: vaultName('pci'),
    sealed: onlyField('r', 'compliance', 'pci-dss'),
    backup: 'whole',
  },
  /** Hash: an item with its log. It is verified, re-encrypted and copied together with its other keys in the bucket. */
  item: { name: bucketNames('i'), backup: 'own' },
  /** String: the item's sensitive authentication data. */
  sad: { name: bucketNames('s'), backup: 'own' },
  /** Sorted set: token by stored_at in ms. */
  times: { name: bucketName('t'), backup: 'own' },
  /** Sorted set: encoded references. A backup creates it again from the items. */
  references: { name: bucketName('r'), backup: 'own' },
  /** Sorted set: digests of names and texts of metadata, each with its token. A backup creates it again from the items. */
  metadata: { name: bucketName('y'), backup: 'own' },
  /** Sorted set: token by the time of its expiry in ms. */
  expiries: { name: bucketName('e'), backup: 'own' },
  /** Sorted set: readings of items, see `append-log-n.lua`, by their time in ms. */
  readings: { name: bucketName('a'), backup: 'own' },
  /** Hash: generation and state of the bucket. */
  fence: { name: bucketName('f'), backup: 'own' },
  /** Hash: `a` the recorded heads of the bucket's logs. */
  logHeads: { name: bucketName('h'), backup: 'none' },
  /** Set: tokens whose logs have changed since their heads were recorded. */
  changedLogs: { name: bucketName('d'), backup: 'none' },
  /** Hash: token -> proven note of a log that was removed since its head was recorded. */
  removedLogs: { name: bucketName('g'), backup: 'none' },
  /** Hash: token -> entries of its log that were delivered to the sink, while more than these are recorded. */
  undelivered: { name: bucketName('u'), backup: 'none' },
  /** List: entries of removed logs that were not delivered, see `outbox-prelude.lua`. */
  outbox: { name: bucketName('o'), backup: 'none' },
  /** List: changes of items, until their events are queued, see `bucket-prelude.lua`. */
  eventOutbox: { name: bucketName('w'), backup: 'own' },
  /** Hash: day and operation -> count, until it is added to those of the account. A backup adds it first. */
  counts: { name: bucketName('n'), backup: 'none' },
  /** Hash: counts on their way to those of the account, and their `id`. */
  takenCounts: { name: bucketName('nt'), backup: 'none' },
  /** Hash: token that may clash -> tag of the number that it stands for. */
  identities: { name: bucketName('x'), backup: 'whole' },
} as const satisfies Readonly<Record<string, RecordKind>>;

/** The registry, or an extended one. */
export type RecordKinds = Readonly<Record<keyof typeof RECORD_KINDS, RecordKind>>;
