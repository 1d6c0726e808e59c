/**
 * Every Redis key name, in one place. What one script changes together shares a hash tag, so that the same
 * names work on a Redis Cluster: a bucket's tag is `{kid.bucket}`, an account's `{a:aid}`.
 */
const accountTag = (aid: string): string => `{a:${aid}}`;

/** One of the B parts that a vault key's items are spread over. */
export interface Bucket {
  readonly kid: string;
  readonly number: number;
}

const bucketTag = (bucket: Bucket): string => `{${bucket.kid}.${bucket.number}}`;

export const redisKeys = {
  /** Hash: facts fixed when the vault was first opened (`root`, `buckets`). */
  installation: '{vault}',
  /** Hash: id of a server that runs -> end of its lease in ms, and what it is. */
  servers: '{servers}',
  /** Hash: account name -> sealed account record. */
  accounts: '{accounts}',
  /** Set: ids of deleted accounts whose keys are still being removed. */
  goneAccounts: '{accounts}gone',
  /** String: failed sign-ins of one account name from one address, both hashed. */
  signInFailures: (digest: string): string => `{f:${digest}}`,
  /** String: when what one source has sent is used up again, in us; the source hashed. */
  sourceRate: (digest: string): string => `{s:${digest}}`,
  /** String: the same for an account. */
  accountRate: (aid: string): string => `${accountTag(aid)}m`,
  /** String: sealed key record. */
  keyRecord: (aid: string, user: string): string => `${accountTag(aid)}k:${user}`,
  /** Sorted set: the account's key identifiers. */
  keyDirectory: (aid: string): string => `${accountTag(aid)}keys`,
  /** Set: ids of deleted keys whose buckets are not empty yet. */
  purge: (aid: string): string => `${accountTag(aid)}purge`,
  /** Set: passphrase changes whose fences and endpoints are not known to be done, as `kid gen`. */
  keyChanges: (aid: string): string => `${accountTag(aid)}c`,
  /** String: wrong passphrases of one key. */
  passphraseFailures: (aid: string, kid: string): string => `${accountTag(aid)}f:${kid}`,
  /** Hash: operation -> count, for one month (`YYYY-MM`). */
  usage: (aid: string, month: string): string => `${accountTag(aid)}u:${month}`,
  /** Hash: the account's security log: sequence -> sealed entry, and `h` head, `o` start, `w` writers. */
  auditChain: (aid: string): string => `${accountTag(aid)}log`,
  /** Hash: account id of every security log there is -> its newest checkpoint, or empty. */
  auditChains: '{audit}',
  /** String: changes of the account's password within a minute. */
  passwordChanges: (aid: string): string => `${accountTag(aid)}w`,
  /** Hash: rule id -> sealed rule. */
  rules: (aid: string): string => `${accountTag(aid)}r`,
  /** Hash: id -> sealed certificate signing request. */
  csrs: (aid: string): string => `${accountTag(aid)}q`,
  /** Hash: id of a request -> its sealed private key. */
  csrKeys: (aid: string): string => `${accountTag(aid)}qk`,
  /** Hash: id -> sealed client certificate. */
  certificates: (aid: string): string => `${accountTag(aid)}qc`,
  /** Sorted set: the account's jobs by when they were created, in ms. */
  jobDirectory: (aid: string): string => `${accountTag(aid)}j`,
  /** Hash: a job. With an empty id the prefix of them all. */
  job: (aid: string, id: string): string => `${accountTag(aid)}j:${id}`,
  /** Prefix of the keys in which the job queue keeps the ids that it runs; all in one slot. */
  jobQueue: '{jobs}',
  /** Hash: an endpoint, or the reservation of its id. */
  endpoint: (id: string): string => `{e:${id}}`,
  /** Sorted set: the account's endpoints by when the sweep should look at them, in ms. */
  endpointDirectory: (aid: string): string => `${accountTag(aid)}e`,
  /** Sorted set: a key's endpoints that were not stopped, by generation. */
  liveEndpoints: (aid: string, kid: string): string => `${accountTag(aid)}l:${kid}`,
  /** Hash: a hosted form, or the reservation of its id. */
  form: (id: string): string => `{h:${id}}`,
  /** Sorted set: the account's forms by when the sweep should look at them, in ms. */
  formDirectory: (aid: string): string => `${accountTag(aid)}h`,
  /** Hash: one idempotency key of one scope, both inside the digest. */
  idempotency: (digest: string): string => `{d:${digest}}`,
  /** Hash: the operator's certificate of compliance, sealed (`r`), and its version (`v`). */
  compliance: '{pci}',
  /** String: version of the BIN table in force. */
  binVersion: '{bin}v',
  /** Sorted set: segment starts -> JSON of the segment's end and issuers. */
  binTable: (version: string): string => `{bin}t:${version}`,
  /** Prefix of an item's hash; the token follows. */
  itemPrefix: (bucket: Bucket): string => `${bucketTag(bucket)}i`,
  /** Prefix of an item's sensitive authentication data; the token follows. */
  sadPrefix: (bucket: Bucket): string => `${bucketTag(bucket)}s`,
  item: (bucket: Bucket, token: string): string => `${bucketTag(bucket)}i${token}`,
  sad: (bucket: Bucket, token: string): string => `${bucketTag(bucket)}s${token}`,
  /** Sorted set: token by stored_at in ms. */
  times: (bucket: Bucket): string => `${bucketTag(bucket)}t`,
  /** Sorted set: encoded references. */
  references: (bucket: Bucket): string => `${bucketTag(bucket)}r`,
  /** Hash: epoch and state of the bucket. */
  fence: (bucket: Bucket): string => `${bucketTag(bucket)}f`,
  /** Hash: clash-prone token -> tag of the number that it stands for. */
  identities: (bucket: Bucket): string => `${bucketTag(bucket)}x`,
} as const;

/** The bucket of a token: FNV-1a over its characters, fixed for the life of the vault. */
export function bucketOf(kid: string, token: string, buckets: number): Bucket {
  let hash = 0x811c9dc5;
  for (let i = 0; i < token.length; i++) {
    hash ^= token.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return { kid, number: (hash >>> 0) % buckets };
}
