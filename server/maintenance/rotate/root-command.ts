import { CommandError, defineCommand, type Table } from '../../cli/command.ts';
import { pause } from '../../core/concurrency.ts';
import { ServerStore } from '../../installation/server-store.ts';
import type { RedisLink } from '../../redis/client.ts';
import type { RootOutcome, RootRotation } from './root.ts';

interface Needs {
  readonly redis: RedisLink;
  readonly rootRotation: RootRotation;
}

/** The interval of reads of the list of servers, while one of them is late. */
const POLL_MS = 500;
/** A server reports its root every 5 s, twice before it counts. */
const WAIT_MS = 90_000;

/** Resolves when every running server reports this state; rejects, naming those that do not, after 90 s. */
async function waitForServers(redis: RedisLink, state: string, signal: AbortSignal): Promise<void> {
  const servers = new ServerStore(redis);
  const startedAt = performance.now();
  for (;;) {
    const late = (await servers.list()).filter(({ roots }) => roots !== state);
    if (late.length === 0) {
      return;
    }
    if (performance.now() - startedAt > WAIT_MS || signal.aborted) {
      const names = late.map(({ host, pid, version }) => `${host} (process ${pid}, version ${version})`);
      throw new CommandError(
        `These servers have not taken up the root; stop or update them, then run this command again: ${names.join(', ')}`,
        1,
      );
    }
    await pause(POLL_MS);
  }
}

function waitingTable({ waiting }: RootOutcome): Table[] {
  const heading = 'Accounts that have not signed in since';
  return waiting.length === 0 ? [] : [{ heading, columns: ['Account'], rows: waiting.map((name) => [name]) }];
}

function verdictOf({ state, waiting, keptUntilMs }: RootOutcome): string {
  switch (state) {
    case 'done':
      return waiting.length === 0
        ? 'The root was rotated, and the older one is gone.'
        : 'The root was rotated, and the older one is gone. The accounts above need a new password: vault account password NAME.';
    case 'pending':
      return `The root was rotated. The older one is kept, encrypted, until all accounts have signed in and until ${new Date(keptUntilMs).toISOString()}. Then run this command again; with --end it is forgotten now.`;
    default:
      return 'Entries of the reference index are still written under the older root. Run this command again.';
  }
}

/** `vault rotate-root` (PCI DSS 3.7.4, 3.7.5). Exit code 1 only when the index is not under the new root. */
export const rotateRootCommand = defineCommand({
  words: ['rotate-root'],
  options: {
    end: {
      kind: 'flag',
      help: 'forgets the older root, although accounts or Idempotency-Keys still need it',
    },
  },
  summary:
    'Replaces the root that index keys and the pepper of passwords derive from, while servers run; goes on with a rotation that was interrupted.',
  audit: { action: 'root.rotate' },
  opens: 'vault',
  async run({ options, progress, signal }, { redis, rootRotation }: Needs) {
    const shown = progress('Moving', 'references');
    let seen = 0;
    const rotation = await rootRotation.rotate({
      isForced: options.end === true,
      waitForServers: (state) => waitForServers(redis, state, signal),
      seen: (entries) => {
        seen += entries;
        shown.at(seen);
      },
    });
    shown.end();
    const moved = rotation.passes.reduce((sum, count) => sum + count, 0);
    return {
      data: { ...rotation, moved },
      shown: [...waitingTable(rotation), `References moved: ${moved}.`, verdictOf(rotation)],
      failed: rotation.state === 'unfinished',
    };
  },
});
