import type { Health } from '../deps.ts';
import { coalesce } from './coalesce.ts';

const KEEP_MS = 1_000;

/** What readiness looks at, by name; each resolves when it is well. */
export type HealthChecks = Readonly<Record<string, () => Promise<void>>>;

/** Tells whether requests can be served now. However often it is asked, Redis is asked once a second. */
export function createHealth(
  checks: HealthChecks,
  now: () => number,
): Health & { readonly drain: () => void } {
  let last: { at: number; result: Awaited<ReturnType<Health['ready']>> } | undefined;
  let draining = false;

  const check = coalesce(async () => {
    const entries = await Promise.all(
      Object.entries(checks).map(async ([name, probe]) => {
        const state = await probe().then(
          () => 'ok' as const,
          () => 'failing' as const,
        );
        return [name, state] as const;
      }),
    );
    const result = {
      ready: entries.every(([, state]) => state === 'ok'),
      checks: Object.fromEntries(entries),
    };
    last = { at: now(), result };
    return result;
  });

  return {
    async ready() {
      if (draining) {
        return { ready: false, checks: { draining: 'failing' } };
      }
      return last && now() - last.at < KEEP_MS ? last.result : check();
    },
    drain: () => {
      draining = true;
    },
  };
}
