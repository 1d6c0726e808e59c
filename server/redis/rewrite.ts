import { VaultError } from '../core/errors.ts';
import type { RedisNode } from './client.ts';
import { isForbiddenCommand } from './errors.ts';
import { infoField, readInfo } from './info.ts';

const POLL_MS = 100;

/**
 * The outcome of a rewrite of one append-only file, with its size in bytes. `no_file`: the server has none. `refused`: the
 * user of the connection lacks the permission. `failed`: Redis could not write the new file, and keeps the old one.
 */
export type Rewritten =
  | { readonly kind: 'ok'; readonly before: number; readonly after: number }
  | { readonly kind: 'no_file' | 'refused' | 'failed' };

/** Waits until no rewrite runs or is scheduled; returns the section `persistence` of INFO. */
async function waitForRewrite(node: RedisNode, signal: AbortSignal): Promise<string> {
  for (;;) {
    signal.throwIfAborted();
    const info = await readInfo(node, 'persistence');
    if (
      infoField(info, 'aof_rewrite_in_progress') === '0' &&
      infoField(info, 'aof_rewrite_scheduled') === '0'
    ) {
      return info;
    }
    await Bun.sleep(POLL_MS);
  }
}

/** Rewrites the append-only file of a server. A rewrite that is already running started too early to count. */
export async function rewriteFile(node: RedisNode, signal: AbortSignal): Promise<Rewritten> {
  const info = await waitForRewrite(node, signal);
  if (infoField(info, 'aof_enabled') !== '1') {
    return { kind: 'no_file' };
  }
  try {
    await node.command('BGREWRITEAOF', []);
  } catch (error) {
    if (error instanceof VaultError && !isForbiddenCommand(error)) {
      throw error;
    }
    return { kind: isForbiddenCommand(error) ? 'refused' : 'failed' };
  }
  const done = await waitForRewrite(node, signal);
  return infoField(done, 'aof_last_bgrewrite_status') === 'ok'
    ? {
        kind: 'ok',
        before: Number(infoField(info, 'aof_current_size')),
        after: Number(infoField(done, 'aof_current_size')),
      }
    : { kind: 'failed' };
}

/** A text that changes whenever a key of the server has expired, and when the server was started again. */
export async function expiryMark(node: RedisNode): Promise<string> {
  const [server, stats] = await Promise.all([readInfo(node, 'server'), readInfo(node, 'stats')]);
  return `${infoField(server, 'run_id')} ${infoField(stats, 'expired_keys')}`;
}
