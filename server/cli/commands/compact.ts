import { VaultError } from '../../core/errors.ts';
import { mastersOf, type RedisNode } from '../../store/redis/client.ts';
import { infoField } from '../../store/redis/info.ts';
import { asText } from '../../store/redis/reply.ts';
import { CommandError, defineCommand } from './command.ts';

/** The pause between two checks of a rewrite. */
const POLL_MS = 100;

/** The append-only file of one server, in bytes. */
interface Compacted {
  /** The address of the server. */
  readonly node: string;
  readonly before: number;
  readonly after: number;
}

/** Waits until no rewrite runs or is scheduled; returns the section `persistence` of INFO. */
async function waitForRewrite(node: RedisNode, signal: AbortSignal): Promise<string> {
  for (;;) {
    signal.throwIfAborted();
    const info = asText(await node.command('INFO', ['persistence']));
    if (
      infoField(info, 'aof_rewrite_in_progress') === '0' &&
      infoField(info, 'aof_rewrite_scheduled') === '0'
    ) {
      return info;
    }
    await Bun.sleep(POLL_MS);
  }
}

/** Rewrites the file of one server. A rewrite that is already running started too early to count. */
async function compactNode(node: RedisNode, signal: AbortSignal): Promise<Compacted> {
  const info = await waitForRewrite(node, signal);
  if (infoField(info, 'aof_enabled') !== '1') {
    throw new CommandError(`${node.name} has no append-only file; there is nothing to rewrite.`, 1);
  }
  const before = Number(infoField(info, 'aof_current_size'));
  try {
    await node.command('BGREWRITEAOF', []);
  } catch (error) {
    if (error instanceof VaultError) {
      throw error;
    }
    throw new CommandError(
      `${node.name} does not allow BGREWRITEAOF; a managed Redis rewrites its file automatically.`,
      1,
    );
  }
  const done = await waitForRewrite(node, signal);
  if (infoField(done, 'aof_last_bgrewrite_status') !== 'ok') {
    throw new CommandError(`${node.name} could not rewrite its append-only file; see its log.`, 1);
  }
  return { node: node.name, before, after: Number(infoField(done, 'aof_current_size')) };
}

/** `vault compact`. Deleted data otherwise stays in the append-only file until Redis rewrites it (PCI DSS 3.2.1). */
export const compactCommand = defineCommand({
  words: ['compact'],
  options: {},
  summary:
    'Rewrites the append-only file of Redis, so that it no longer contains deleted data. Servers may run.',
  audit: { action: 'store.compact' },
  opens: 'vault',
  async run({ progress, signal }, { vault }) {
    const masters = mastersOf(vault.redis);
    const shown = progress('Rewriting', 'servers', masters.length);
    const files: Compacted[] = [];
    // One at a time, since each copies its memory while it writes.
    for (const node of masters) {
      files.push(await compactNode(node, signal));
      shown.at(files.length);
    }
    shown.end();
    return {
      data: { nodes: files },
      shown: {
        heading:
          'The append-only file contains no data that was deleted before. Replicas and backups have their own files.',
        columns: ['Redis', 'Bytes before', 'Bytes after'],
        rows: files.map(({ node, before, after }) => [node, String(before), String(after)]),
      },
    };
  },
});
