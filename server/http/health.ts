import type { Clock } from '../core/clock.ts';
import { coalesce } from '../core/concurrency.ts';

interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, 'ok' | 'failing'>>;
  /** Missing protections of Redis that the operator has allowed. */
  readonly unsafe?: readonly string[];
}

const KEEP_MS = 1_000;

/** The readiness of a server by named checks, which run once a second at most. `unsafe`: protections that are missing. */
export class Health {
  private last: { readonly at: number; readonly result: Readiness } | undefined;
  private held: string | undefined;
  private readonly check = coalesce(() => this.runChecks());

  constructor(
    private readonly checks: Readonly<Record<string, () => Promise<void>>>,
    private readonly now: Clock,
    private readonly unsafe: readonly string[] = [],
  ) {}

  /** Returns the state; not ready while it is held. */
  async ready(): Promise<Readiness> {
    const { held, last } = this;
    if (held !== undefined) {
      return this.stateOf(false, { [held]: 'failing' });
    }
    return last && this.now() - last.at < KEEP_MS ? last.result : this.check();
  }

  /** Makes `ready` false, with this reason, until `release`. */
  hold(reason: 'starting' | 'draining'): void {
    this.held = reason;
  }

  release(): void {
    this.held = undefined;
  }

  private async runChecks(): Promise<Readiness> {
    const entries = await Promise.all(
      Object.entries(this.checks).map(async ([name, probe]) => {
        const state = await probe().then(
          () => 'ok' as const,
          () => 'failing' as const,
        );
        return [name, state] as const;
      }),
    );
    const isReady = entries.every(([, state]) => state === 'ok');
    const result = this.stateOf(isReady, Object.fromEntries(entries));
    this.last = { at: this.now(), result };
    return result;
  }

  private stateOf(ready: boolean, checks: Readiness['checks']): Readiness {
    return { ready, checks, ...(this.unsafe.length === 0 ? {} : { unsafe: this.unsafe }) };
  }
}
