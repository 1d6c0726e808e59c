import type { Clock } from '../core/clock.ts';
import { coalesce } from '../core/concurrency.ts';
import { refusalOf, type WriteRefusal } from '../core/write-refusal.ts';

interface Readiness {
  readonly ready: boolean;
  /** The state of each check; also `redis_reason` while Redis refuses writes. */
  readonly checks: Readonly<Record<string, 'ok' | 'failing' | WriteRefusal>>;
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
    const results = await Promise.all(
      Object.entries(this.checks).map(async ([name, probe]) => {
        const failure = await probe().then(
          () => undefined,
          (error: unknown) => ({ reason: refusalOf(error) }),
        );
        return { name, failure };
      }),
    );
    const checks = results.flatMap(({ name, failure }) => [
      [name, failure === undefined ? 'ok' : 'failing'] as const,
      ...(failure?.reason === undefined ? [] : [[`${name}_reason`, failure.reason] as const]),
    ]);
    const isReady = results.every(({ failure }) => failure === undefined);
    const result = this.stateOf(isReady, Object.fromEntries(checks));
    this.last = { at: this.now(), result };
    return result;
  }

  private stateOf(ready: boolean, checks: Readiness['checks']): Readiness {
    return { ready, checks, ...(this.unsafe.length === 0 ? {} : { unsafe: this.unsafe }) };
  }
}
