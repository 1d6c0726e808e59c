import type { Clock } from '../core/clock.ts';
import { coalesce } from '../core/concurrency.ts';

/** Whether requests can be served now. */
interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, 'ok' | 'failing'>>;
  /** Protections of Redis that are missing, and that the operator has chosen to do without. */
  readonly unsafe?: readonly string[];
}

const KEEP_MS = 1_000;

/** The readiness of a server. */
export type Health = ReturnType<typeof createHealth>;

/**
 * Makes the readiness of a server out of checks by name, each of which resolves while all is well. However often it is
 * asked, the checks run once a second. `unsafe` names the protections that are missing and that the operator does without.
 */
export function createHealth(
  checks: Readonly<Record<string, () => Promise<void>>>,
  now: Clock,
  unsafe: readonly string[] = [],
) {
  let last: { readonly at: number; readonly result: Readiness } | undefined;
  let held: string | undefined;
  const allowed = unsafe.length === 0 ? {} : { unsafe };

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
      ...allowed,
    };
    last = { at: now(), result };
    return result;
  });

  return {
    /** Whether requests can be served now; false while it is held. */
    async ready(): Promise<Readiness> {
      if (held !== undefined) {
        return { ready: false, checks: { [held]: 'failing' }, ...allowed };
      }
      return last && now() - last.at < KEEP_MS ? last.result : check();
    },
    /** Makes `ready` false, with this reason, until `release`. */
    hold(reason: 'starting' | 'draining'): void {
      held = reason;
    },
    release(): void {
      held = undefined;
    },
  };
}
