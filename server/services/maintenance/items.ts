import type { Renewals } from '../../crypto/walk.ts';
import type { Bucket } from '../../store/redis/keys.ts';
import type { KeyTally } from './tally.ts';
import type { MaintenanceDependencies, WalkedKey } from './walk.ts';

const LOG_STEP = 500;

/** What sealing items again has come to. */
export interface ItemsRenewed {
  renewed: number;
  /** Changed by somebody else in between: to be met again. */
  missed: number;
  readonly lost: { readonly token: string; readonly name: string }[];
}

/**
 * Seals the items of one bucket again, with their logs. Metadata and every entry of a log are records of their own, and
 * each is replaced by itself: a log of any length verifies at every moment, and entries that are being written just now
 * name what they have seen by names that stay.
 */
export async function renewBucket(
  {
    crypto,
    surveyStore,
    itemStore,
    now,
  }: Pick<MaintenanceDependencies, 'crypto' | 'surveyStore' | 'itemStore' | 'now'>,
  key: WalkedKey,
  bucket: Bucket,
  report: { readonly tally: KeyTally; readonly seen: (items: number) => void },
): Promise<ItemsRenewed> {
  const sum: ItemsRenewed = { renewed: 0, missed: 0, lost: [] };
  const { aid, kid, gen } = key;

  const put = async (tokens: readonly string[], { plan, parts }: Renewals): Promise<void> => {
    report.tally.addAll(plan.keys);
    sum.lost.push(...plan.lost.map(({ item, name }) => ({ token: tokens[item] ?? '', name })));
    const renewals = plan.fields.flatMap((field, i) => {
      const part = parts[i];
      return part ? [{ ...field, ...part }] : [];
    });
    if (renewals.length > 0) {
      const replaced = await surveyStore.renew(bucket, tokens, renewals);
      sum.renewed += replaced;
      sum.missed += renewals.length - replaced;
    }
  };

  /** What of a log stands behind the first entries, which came with the item. */
  const renewRest = async (token: string, from: number, length: number): Promise<void> => {
    for (let first = from; first <= length; first += LOG_STEP) {
      const last = Math.min(first + LOG_STEP - 1, length);
      const entries = await itemStore.readLogUp(kid, token, first, last);
      if (entries.length > 0) {
        await put([token], await crypto.renewLog({ aid, kid, token, first }, entries));
      }
    }
  };

  for await (const page of surveyStore.tokens(bucket)) {
    for (let at = 0; at < page.length; ) {
      const { blob, items } = await surveyStore.survey(bucket, page.slice(at));
      const tokens = page.slice(at, at + items);
      const renewals = await crypto.renewItems({ aid, kid, gen, now: now(), tokens }, blob);
      await put(tokens, renewals);
      for (const { item, length, first } of renewals.plan.long) {
        await renewRest(tokens[item] ?? '', first, length);
      }
      report.seen(items);
      at += items;
    }
  }
  return sum;
}
