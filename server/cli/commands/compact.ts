import { VaultError } from '../../core/errors.ts';
import { type RedisNode, text } from '../../store/redis/client.ts';
import { CommandError, defineCommand } from './command.ts';

const POLL_MS = 100;

/** One server's append-only file, in bytes. */
interface Compacted {
  readonly node: string;
  readonly before: number;
  readonly after: number;
}

const infoOf = async (node: RedisNode): Promise<(name: string) => string | undefined> => {
  const info = text(await node.command('INFO', ['persistence']));
  return (name) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
};

const untilRewritten = async (
  node: RedisNode,
  signal: AbortSignal,
): Promise<(name: string) => string | undefined> => {
  for (;;) {
    signal.throwIfAborted();
    const told = await infoOf(node);
    if (told('aof_rewrite_in_progress') === '0' && told('aof_rewrite_scheduled') === '0') {
      return told;
    }
    await Bun.sleep(POLL_MS);
  }
};

/** Rewrites the file of one server. A rewrite that runs already began before this, so it does not count. */
async function compactNode(node: RedisNode, signal: AbortSignal): Promise<Compacted> {
  const told = await untilRewritten(node, signal);
  if (told('aof_enabled') !== '1') {
    throw new CommandError(`${node.name} keeps no append-only file; there is nothing to rewrite.`, 1);
  }
  const before = Number(told('aof_current_size'));
  try {
    await node.command('BGREWRITEAOF', []);
  } catch (error) {
    if (error instanceof VaultError) {
      throw error;
    }
    throw new CommandError(
      `${node.name} does not take BGREWRITEAOF; a managed Redis rewrites its file by itself.`,
      1,
    );
  }
  const done = await untilRewritten(node, signal);
  if (done('aof_last_bgrewrite_status') !== 'ok') {
    throw new CommandError(`${node.name} could not rewrite its append-only file; its log says why.`, 1);
  }
  return { node: node.name, before, after: Number(done('aof_current_size')) };
}

const compact = defineCommand({
  words: ['compact'],
  options: {},
  summary:
    'Rewrites the append-only file, so that the bytes of what was deleted are gone from it. Servers may run.',
  audit: { action: 'store.compact' },
  opens: 'vault',
  async run({ progress, signal }, { vault }) {
    const masters = vault.redis.nodes().filter(({ isReplica }) => !isReplica);
    const shown = progress('Rewriting', 'servers', masters.length);
    const files: Compacted[] = [];
    // One after the other: each copies its memory while it writes.
    for (const node of masters) {
      files.push(await compactNode(node, signal));
      shown.at(files.length);
    }
    shown.end();
    return {
      data: { nodes: files },
      shown: {
        heading:
          'The append-only file holds nothing that was deleted before. Replicas and backups have files of their own.',
        columns: ['Redis', 'Bytes before', 'Bytes after'],
        rows: files.map(({ node, before, after }) => [node, String(before), String(after)]),
      },
    };
  },
});

/** The append-only file. */
export const compactCommands = [compact];
