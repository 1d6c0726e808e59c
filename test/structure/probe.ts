/**
 * Loaded by every thread of the instrumented server. Between the messages `record` and `report` of the measuring
 * process it records calls and requests; then it sends them there.
 */
import { isMainThread } from 'node:worker_threads';

/** What one thread recorded. All times are milliseconds since 1970, with fractions. */
export interface Recording {
  readonly isMain: boolean;
  /** Ids of functions. */
  readonly calls: [id: number, at: number][];
  /** When each request arrived and when its response was made. */
  readonly requests: [from: number, to: number][];
}

const channel = new BroadcastChannel('measure');
let recording: Recording | undefined;

// The one clock that threads have in common: `process.hrtime` starts at zero in each.
function now(): number {
  return performance.timeOrigin + performance.now();
}

function obey(order: unknown): void {
  if (order === 'record') {
    recording = { isMain: isMainThread, calls: [], requests: [] };
  } else if (order === 'report') {
    isMainThread ? process.send?.(recording) : channel.postMessage(recording);
    recording = undefined;
  }
}

type Handler = (...args: unknown[]) => unknown;

function timed(handle: Handler): Handler {
  return async (...args) => {
    const from = now();
    const response = await handle(...args);
    recording?.requests.push([from, now()]);
    return response;
  };
}

/** Times the requests of every server that is started from now on: those of its routes and those of no route. */
function interceptRequests(serve: (options: object) => unknown): void {
  Reflect.set(
    Bun,
    'serve',
    (options: { readonly fetch: Handler; readonly routes?: Record<string, unknown> }) =>
      serve({
        ...options,
        fetch: timed(options.fetch),
        routes: Object.fromEntries(
          Object.entries(options.routes ?? {}).map(([path, handle]) => [
            path,
            typeof handle === 'function' ? timed(handle as Handler) : handle,
          ]),
        ),
      }),
  );
}

/** What the server does at intervals is no part of a request: nothing is recorded while it runs. */
function muteIntervals(start: typeof setInterval): void {
  Reflect.set(globalThis, 'setInterval', (run: () => void, periodMs: number) =>
    start(() => {
      const paused = recording;
      recording = undefined;
      run();
      recording = paused;
    }, periodMs),
  );
}

Reflect.set(globalThis, '__called', (id: number) => recording?.calls.push([id, now()]));
channel.onmessage = ({ data }) => (typeof data === 'string' ? obey(data) : process.send?.(data));
if (isMainThread) {
  process.on('message', (order) => {
    obey(order);
    channel.postMessage(order);
  });
  muteIntervals(setInterval);
  interceptRequests(Bun.serve as (options: object) => unknown); // the options are passed on as they are
}
