import { coalesce } from '../common/coalesce.ts';

export interface Health {
  readonly ready: () => Promise<{
    readonly ready: boolean;
    readonly checks: Readonly<Record<string, 'ok' | 'failing'>>;
    /** Protections of Redis that are missing, and that the operator has chosen to do without. */
    readonly unsafe?: readonly string[];
  }>;
}

const KEEP_MS = 1_000;

/** What readiness looks at, by name; each resolves when it is well. */
export type HealthChecks = Readonly<Record<string, () => Promise<void>>>;

/** Health that can be told that the server is not ready yet, or no longer. */
export interface HeldHealth extends Health {
  readonly hold: (reason: 'starting' | 'draining') => void;
  readonly release: () => void;
}

/**
 * Tells whether requests can be served now. However often it is asked, Redis is asked once a second. `unsafe` names
 * the protections that are missing and that the operator does without.
 */
export function createHealth(
  checks: HealthChecks,
  now: () => number,
  unsafe: readonly string[] = [],
): HeldHealth {
  let last: { at: number; result: Awaited<ReturnType<Health['ready']>> } | undefined;
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
    async ready() {
      if (held !== undefined) {
        return { ready: false, checks: { [held]: 'failing' }, ...allowed };
      }
      return last && now() - last.at < KEEP_MS ? last.result : check();
    },
    hold: (reason) => {
      held = reason;
    },
    release: () => {
      held = undefined;
    },
  };
}
