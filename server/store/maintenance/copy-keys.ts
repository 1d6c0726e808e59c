import { redisKeys } from '../redis/keys.ts';

/**
 * How a key comes into a backup. `whole`: read as one value, together with the account's others; `walked`: in steps
 * of its own; `lost`: not at all, since it is made again or means nothing later. A new name has to be put here.
 */
const HOW = {
  installation: 'walked',
  servers: 'lost',
  accounts: 'walked',
  goneAccounts: 'walked',
  signInFailures: 'lost',
  sourceRate: 'lost',
  accountRate: 'lost',
  keyRecord: 'walked',
  keyDirectory: 'walked',
  // Keys that are being removed have no record, so nothing of them is copied.
  purge: 'lost',
  // A restore finishes all changes.
  keyChanges: 'lost',
  passphraseFailures: 'lost',
  usage: 'walked',
  passwordChanges: 'lost',
  compliance: 'walked',
  auditChain: 'walked',
  auditChains: 'walked',
  rules: 'whole',
  csrs: 'whole',
  csrKeys: 'whole',
  certificates: 'whole',
  jobDirectory: 'walked',
  job: 'walked',
  jobQueue: 'lost',
  endpoint: 'walked',
  endpointDirectory: 'walked',
  liveEndpoints: 'walked',
  form: 'walked',
  formDirectory: 'walked',
  idempotency: 'walked',
  binVersion: 'walked',
  binTable: 'walked',
  itemPrefix: 'walked',
  sadPrefix: 'walked',
  item: 'walked',
  sad: 'walked',
  times: 'walked',
  references: 'walked',
  fence: 'walked',
  identities: 'walked',
} as const satisfies Readonly<Record<keyof typeof redisKeys, 'whole' | 'walked' | 'lost'>>;

type Names = keyof typeof HOW;
type WholeName = { [Name in Names]: (typeof HOW)[Name] extends 'whole' ? Name : never }[Names];

const isWhole = (name: Names): name is WholeName => HOW[name] === 'whole';

/** Keys of an account that are small enough to be copied in one look, all of one slot. */
export const wholeKeysOf = (aid: string): readonly string[] =>
  (Object.keys(HOW) as Names[]).filter(isWhole).map((name) => redisKeys[name](aid));
