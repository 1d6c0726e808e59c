import type { Reencryption } from '../../../workers/jobs/maintenance/jobs.ts';
import type { Bucket } from '../../redis/records/name.ts';
import { lose, type Pass } from '../pass.ts';
import { addKeys } from '../report.ts';
import type { MaintenanceDependencies, VaultKey } from '../walk.ts';

const LOG_STEP = 500;

/** Puts re-encrypted records of some items in the place of those that were read. */
async function replace(
  { surveyStore }: MaintenanceDependencies,
  pass: Pass,
  key: VaultKey,
  bucket: Bucket,
  tokens: readonly string[],
  { plan, parts }: Reencryption,
): Promise<void> {
  addKeys(pass.keys, plan.keys);
  for (const { item, name } of plan.lost) {
    const place = `${key.user}/${tokens[item] ?? ''}`;
    lose(pass, { kind: name === 'm' ? 'item' : 'log', account: key.account.name, place });
  }
  const records = plan.fields.flatMap((field, i) => {
    const part = parts[i];
    return part ? [{ ...field, ...part }] : [];
  });
  if (records.length > 0) {
    const replaced = await surveyStore.replace(bucket, tokens, records);
    pass.reencrypted += replaced;
    pass.missed += records.length - replaced;
  }
}

/**
 * Re-encrypts the items of one bucket with their logs. Metadata and every entry of a log are records of their own, and
 * each is replaced separately: a log of any length verifies at every moment, and entries that are written meanwhile name
 * what they follow by names that stay.
 */
export async function reencryptBucket(
  parts: MaintenanceDependencies,
  pass: Pass,
  key: VaultKey,
  number: number,
): Promise<void> {
  const { crypto, surveyStore, itemStore, now } = parts;
  const { account, kid, gen } = key;
  const { aid } = account;
  const bucket = { kid, number };
  for await (const page of surveyStore.tokens(bucket)) {
    for (let at = 0; at < page.length; ) {
      const { blob, items } = await surveyStore.survey(bucket, page.slice(at));
      const tokens = page.slice(at, at + items);
      const renewals = await crypto.reencryptItems({
        params: { aid, kid, gen, now: now(), tokens },
        survey: blob,
      });
      await replace(parts, pass, key, bucket, tokens, renewals);
      // What of a long log stands behind the first entries, which came with the item.
      for (const { item, length, first: from } of renewals.plan.long) {
        const token = tokens[item] ?? '';
        for (let first = from; first <= length; first += LOG_STEP) {
          const last = Math.min(first + LOG_STEP - 1, length);
          const entries = await itemStore.readLogUp(kid, token, first, last);
          if (entries.length > 0) {
            const log = await crypto.reencryptLog({ params: { aid, kid, token, first }, entries });
            await replace(parts, pass, key, bucket, [token], log);
          }
        }
      }
      pass.seen(items);
      at += items;
    }
  }
}
