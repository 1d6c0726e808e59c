import { Gauge, Histogram, type Registry } from 'prom-client';

/** How often the delay is measured. */
const PROBE_MS = 20;
/** How long a largest delay is shown: at least one window, less than two. */
const WINDOW_MS = 60_000;
/** Upper bounds in seconds. */
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/**
 * Measures the delay of the event loop 50 times a second: as a histogram, from which percentiles over any time and
 * number of servers can be computed, and as the largest delay of the last one to two minutes, which no bucket shows.
 * Returns a function that stops the measurement. The timer does not keep the process alive.
 */
export function watchEventLoop(registry: Registry): () => void {
  const delays = new Histogram({
    name: 'vault_event_loop_delay_seconds',
    help: 'How late the event loop ran a timer; above 0.1 one request has delayed others.',
    buckets: BUCKETS,
    registers: [registry],
  });
  let largest = 0;
  let largestBefore = 0;
  let windowEndsAt = performance.now() + WINDOW_MS;
  let dueAt = performance.now() + PROBE_MS;
  new Gauge({
    name: 'vault_event_loop_delay_max_seconds',
    help: 'Largest delay of the event loop in the last one to two minutes.',
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.set(Math.max(largest, largestBefore));
    },
  });
  const timer = setInterval(() => {
    const now = performance.now();
    const seconds = Math.max(0, now - dueAt) / 1_000;
    dueAt = now + PROBE_MS;
    delays.observe(seconds);
    if (now > windowEndsAt) {
      [largestBefore, largest, windowEndsAt] = [largest, 0, now + WINDOW_MS];
    }
    largest = Math.max(largest, seconds);
  }, PROBE_MS);
  timer.unref();
  return () => clearInterval(timer);
}
