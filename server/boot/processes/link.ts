import type { Figures } from '../../telemetry/figures.ts';

export type Report =
  /** It serves requests. */
  | { readonly kind: 'ready' }
  /** It needs the metrics of all processes, as text. */
  | { readonly kind: 'scrape' }
  /** Its own metrics: the answer to `collect`, and the last message. */
  | { readonly kind: 'figures'; readonly figures: Figures };

/** A message of a supervisor to a server process. */
export type Order =
  /** Report the metrics. */
  | { readonly kind: 'collect' }
  /** The metrics of all processes, in the Prometheus text format. */
  | { readonly kind: 'scraped'; readonly text: string }
  /** Another process has taken over: finish the requests in flight and end. */
  | { readonly kind: 'retire' };

/** The first argument of a server process that a supervisor has started; its place and role follow. */
export const PROCESS_ARGUMENT = 'process';
/** The role of the process that initialises the vault, and introduces it to the operator. */
export const FIRST_ARGUMENT = 'first';
/** The time limit of a scrape; the supervisor waits one second for each process, all at once. */
const SCRAPE_MS_MAX = 5_000;

type EndReason = 'retired' | 'supervisor_gone';

/** Sends a report; resolves also if the supervisor is gone. */
function send(report: Report): Promise<void> {
  return new Promise((resolve) => {
    try {
      process.send?.(report, undefined, undefined, () => resolve());
    } catch {
      resolve();
    }
  });
}

/** The connection of a server process to the supervisor that started it. */
export class SupervisorLink {
  private readonly waiting = new Set<(text: string) => void>();
  private collect: () => Promise<Figures> = async () => [];
  /** A process whose supervisor ends before it serves exits immediately. */
  private onEnd: (reason: EndReason) => void = () => process.exit(1);

  private constructor(
    /** The place of this process among all, from 0. */
    readonly slot: number,
    /** This process initialises the vault, and prints the banner. */
    readonly isFirst: boolean,
  ) {
    // Only the supervisor, which is the same program, has the other end.
    process.on('message', (order: Order) => void this.obey(order).catch(() => undefined));
    process.on('disconnect', () => this.onEnd('supervisor_gone'));
  }

  /** Opens the connection; undefined without a supervisor. Call it first, so that no process outlives its supervisor. */
  static open(): SupervisorLink | undefined {
    const [argument, slot, role] = process.argv.slice(2);
    return argument !== PROCESS_ARGUMENT || process.send === undefined
      ? undefined
      : new SupervisorLink(Number(slot), role === FIRST_ARGUMENT);
  }

  /** From now on this process answers for its metrics, and `onEnd` is called instead of an exit. */
  serve(collect: () => Promise<Figures>, onEnd: (reason: EndReason) => void): void {
    this.collect = collect;
    this.onEnd = onEnd;
    if (!process.connected) {
      onEnd('supervisor_gone');
    }
    void send({ kind: 'ready' });
  }

  /** Returns the metrics of all processes, in the Prometheus text format. Rejects if the supervisor does not answer. */
  scrape(): Promise<string> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(settle);
        reject(new Error('the supervisor did not answer'));
      }, SCRAPE_MS_MAX);
      const settle = (text: string): void => {
        clearTimeout(timer);
        resolve(text);
      };
      this.waiting.add(settle);
      void send({ kind: 'scrape' });
    });
  }

  /** Reports the last metrics of this process; resolves when they are sent, or the supervisor is gone. */
  reportLast(figures: Figures): Promise<void> {
    return send({ kind: 'figures', figures });
  }

  private async obey(order: Order): Promise<void> {
    switch (order.kind) {
      case 'collect':
        return send({ kind: 'figures', figures: await this.collect() });
      case 'scraped':
        for (const resolve of this.waiting) {
          resolve(order.text);
        }
        return this.waiting.clear();
      case 'retire':
        return this.onEnd('retired');
    }
  }
}
