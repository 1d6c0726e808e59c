import { connect, sleep } from 'bun';

/** Ends as soon as somebody listens on a port of this machine; fails after a minute. */
const port = Number(process.argv[2]);
const untilMs = Date.now() + 60_000;
const socket = { data: () => undefined };

async function listens(): Promise<boolean> {
  try {
    (await connect({ hostname: '127.0.0.1', port, socket })).end();
    return true;
  } catch {
    return false;
  }
}

while (!(await listens())) {
  if (Date.now() > untilMs) {
    throw new Error(`Nobody listens on port ${port}.`);
  }
  await sleep(20);
}
