import type { Figures } from '../../telemetry/figures.ts';

/** What a server process reports to its supervisor. */
export type Report =
  /** It serves requests. */
  | { readonly kind: 'ready' }
  /** It needs the metrics of all processes, as text. */
  | { readonly kind: 'scrape' }
  /** Its own metrics: the answer to `collect`, and its last word. */
  | { readonly kind: 'figures'; readonly figures: Figures };

/** What a supervisor asks of a server process, or answers. */
export type Order =
  /** Report the metrics. */
  | { readonly kind: 'collect' }
  /** The metrics of all processes, in the Prometheus text format. */
  | { readonly kind: 'scraped'; readonly text: string }
  /** Another process has taken over: finish the requests in flight and end. */
  | { readonly kind: 'retire' };

/** The first argument of a server process that a supervisor has started; its place and role follow. */
export const PROCESS_ARGUMENT = 'process';
/** The role of the process that creates what a vault needs once, and introduces it to the operator. */
export const FIRST_ARGUMENT = 'first';
