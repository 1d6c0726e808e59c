import { CommandError, defineCommand } from '../cli/command.ts';
import { mastersOf, type RedisLink, type RedisNode } from '../redis/client.ts';
import { type Rewritten, rewriteFile } from '../redis/rewrite.ts';

/** The append-only file of one server, in bytes. */
interface Compacted {
  readonly node: string;
  readonly before: number;
  readonly after: number;
}

/** Messages for the operator when a file was not rewritten. */
const PROBLEMS: Readonly<Record<Exclude<Rewritten['kind'], 'ok'>, string>> = {
  no_file: 'has no append-only file; there is nothing to rewrite.',
  refused: 'does not allow BGREWRITEAOF; a managed Redis rewrites its file automatically.',
  failed: 'could not rewrite its append-only file; see its log.',
};

async function compactNode(node: RedisNode, signal: AbortSignal): Promise<Compacted> {
  const made = await rewriteFile(node, signal);
  if (made.kind !== 'ok') {
    throw new CommandError(`${node.name} ${PROBLEMS[made.kind]}`, 1);
  }
  return { node: node.name, before: made.before, after: made.after };
}

/** `vault compact`. Deleted data otherwise stays in the append-only file until Redis rewrites it (PCI DSS 3.2.1). */
export const compactCommand = defineCommand({
  words: ['compact'],
  options: {},
  summary:
    'Rewrites the append-only file of Redis, so that it no longer contains deleted data. Servers may run.',
  audit: { action: 'store.compact' },
  opens: 'vault',
  async run({ progress, signal }, { redis }: { readonly redis: RedisLink }) {
    const masters = mastersOf(redis);
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
