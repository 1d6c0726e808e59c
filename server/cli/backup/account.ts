import { monthsOf } from '../../services/request/metering.ts';
import type { CopiedKey, CopyStore } from '../../store/maintenance/copy.ts';
import { wholeKeysOf } from '../../store/maintenance/copy-keys.ts';
import { redisKeys } from '../../store/redis/keys.ts';
import { type BackupRecord, recordOf } from './record.ts';

const STEP = 100;
/** The nonce of an attempt that nobody makes any more: whether its request was sent, is not known. */
const UNKNOWN_FLIGHT = 'restored';

type Add = (record: BackupRecord) => Promise<void>;

/** Fields of a hash by name; undefined for another kind of key. */
export const fieldsOf = ({
  kind,
  parts,
}: Pick<CopiedKey, 'kind' | 'parts'>): Map<string, Buffer> | undefined => {
  if (kind !== 'hash') {
    return undefined;
  }
  const fields = new Map<string, Buffer>();
  for (let at = 0; at + 1 < parts.length; at += 2) {
    fields.set(String(parts[at]), parts[at + 1] ?? Buffer.alloc(0));
  }
  return fields;
};

/** Members of a sorted set in the order of their scores. */
const membersOf = (found: CopiedKey | undefined): readonly string[] =>
  (found?.parts ?? []).filter((_, at) => at % 2 === 0).map(String);

const stepsOf = <Entry>(entries: readonly Entry[]): readonly (readonly Entry[])[] =>
  Array.from({ length: Math.ceil(entries.length / STEP) }, (_, at) =>
    entries.slice(at * STEP, (at + 1) * STEP),
  );

/**
 * A waiting request as a restore may have it. Whether it was sent behind the copy, nobody knows then: it looks as if
 * an attempt had been interrupted, so that only what does no harm is sent again.
 */
const asInterrupted = (job: CopiedKey): CopiedKey => {
  const fields = fieldsOf(job);
  if (fields?.get('p')?.toString() !== 'send') {
    return job;
  }
  fields.set('f', Buffer.from(UNKNOWN_FLIGHT));
  fields.set('n', Buffer.from(String(Math.max(1, Number(fields.get('n') ?? 0)))));
  return { ...job, parts: [...fields].flatMap(([name, value]) => [Buffer.from(name), value]) };
};

const copyJobs = async (copies: CopyStore, aid: string, add: Add): Promise<void> => {
  const [directory] = await copies.keys([redisKeys.jobDirectory(aid)]);
  if (directory === undefined) {
    return;
  }
  await add(directory);
  for (const ids of stepsOf(membersOf(directory))) {
    for (const job of await copies.keys(ids.map((id) => redisKeys.job(aid, id)))) {
      await add(asInterrupted(job));
    }
  }
};

/**
 * Copies what a directory names. What is made later is not in the directory that was read, and what has gone leaves
 * an entry that the sweep takes out, so a copy never holds one that no directory knows.
 */
const copyNamed = async (
  copies: CopyStore,
  entries: readonly { readonly key: string; readonly nonce: string }[],
  add: Add,
): Promise<void> => {
  for (const step of stepsOf(entries)) {
    const found = await Promise.all(step.map(({ key }) => copies.keys([key])));
    for (const [at, [copy]] of found.entries()) {
      const fields = copy && fieldsOf(copy);
      // A reservation has no owner yet; it runs out.
      if (copy && fields?.has('a') && fields.get('n')?.toString() === step[at]?.nonce) {
        await add(copy);
      }
    }
  }
};

const copyEndpoints = async (copies: CopyStore, aid: string, add: Add): Promise<void> => {
  const [directory] = await copies.keys([redisKeys.endpointDirectory(aid)]);
  if (directory === undefined) {
    return;
  }
  await add(directory);
  const entries = membersOf(directory).map((member) => member.split(' '));
  const kids = [...new Set(entries.map(([kid = '']) => kid))];
  for (const step of stepsOf(kids)) {
    for (const live of await copies.keys(step.map((kid) => redisKeys.liveEndpoints(aid, kid)))) {
      await add(live);
    }
  }
  const named = entries.map(([_kid, _kind, nonce = '', id = '']) => ({ key: redisKeys.endpoint(id), nonce }));
  await copyNamed(copies, named, add);
};

const copyForms = async (copies: CopyStore, aid: string, add: Add): Promise<void> => {
  const [directory] = await copies.keys([redisKeys.formDirectory(aid)]);
  if (directory === undefined) {
    return;
  }
  await add(directory);
  const entries = membersOf(directory).map((member) => member.split(' '));
  await copyNamed(
    copies,
    entries.map(([nonce = '', id = '']) => ({ key: redisKeys.form(id), nonce })),
    add,
  );
};

/** What leads to keys and items: requests, endpoints and forms. Copied before them, so that nothing leads nowhere. */
export async function copyLeading(copies: CopyStore, aid: string, add: Add): Promise<void> {
  await copyJobs(copies, aid, add);
  await copyEndpoints(copies, aid, add);
  await copyForms(copies, aid, add);
}

/** What an account has besides: rules, certificates and usage. Copied behind what refers to it. */
export async function copyBeside(
  copies: CopyStore,
  account: { readonly aid: string; readonly created_at: string },
  now: number,
  add: Add,
): Promise<void> {
  const { aid, created_at } = account;
  const months = monthsOf(Date.parse(created_at), now);
  const names = [...wholeKeysOf(aid), ...months.map((month) => redisKeys.usage(aid, month))];
  for (const key of await copies.keys(names)) {
    await add(key);
  }
}

/**
 * One of the keys that no directory names, as a restore may have it. A request under an idempotency key that has no
 * reply yet looks as if something had been sent, so that a repeat does not send it again. Of jobs only ids that stay
 * taken count here: the others come with their account.
 */
const asRestored = (key: CopiedKey): BackupRecord | undefined => {
  const fields = fieldsOf(key);
  if (fields === undefined || key.expiresAt === 0) {
    return undefined;
  }
  return !key.key.startsWith('{d:') || fields.has('r') || fields.has('o')
    ? key
    : recordOf('hash', key.key, [...key.parts, 'o', UNKNOWN_FLIGHT], key.expiresAt);
};

/** Keys that nothing names but themselves. Copied before everything that they speak of. */
export async function copyUnnamed(copies: CopyStore, names: readonly string[], add: Add): Promise<void> {
  for (const step of stepsOf(names)) {
    const found = await Promise.all(step.map((name) => copies.keys([name])));
    for (const record of found.flat().map(asRestored)) {
      if (record) {
        await add(record);
      }
    }
  }
}
