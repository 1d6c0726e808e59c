import type { Session } from '../boot/open.ts';
import { REVISION_GONE } from '../domain/account/revision.ts';
import { type Command, type CommandCall, operatorAgent, type Result } from './command.ts';

/**
 * Runs a command and records its outcome in the operator's security log, and in the log of the account that it
 * concerns (PCI DSS 10.2.1.2). A change that cannot be recorded rejects, although it was made.
 */
export async function recordedCommand(
  { audit }: Command,
  { argument, options }: Pick<CommandCall, 'argument' | 'options'>,
  { vault }: Session,
  run: () => Promise<Result | undefined>,
): Promise<Result | undefined> {
  if (audit === undefined) {
    return run();
  }
  const { accounts } = vault.services;
  const name = audit.account === 'option' ? String(options['account']) : argument;
  const identify = async () => (audit.account ? accounts.identify(name) : undefined);
  // A deletion removes the account, a creation adds it: the id is known either before or after.
  const before = await identify();
  const record = async (outcome: string, entry?: Result['entry']): Promise<void> => {
    const now = await identify();
    const aid = before?.aid ?? now?.aid;
    const revision = now?.aid === aid ? now?.revision : REVISION_GONE;
    const event = {
      ...{ action: audit.action, outcome, actor: 'operator', ip: 'local' },
      userAgent: operatorAgent(),
      requestId: vault.randomId(),
      object: entry?.object ?? audit.object?.(options) ?? (audit.account ? `account/${name}` : undefined),
    };
    await vault.services.audit.record({ ...event, aid: '' });
    if (aid !== undefined) {
      const known = revision ? ({ kind: 'account', revision } as const) : undefined;
      await vault.services.audit.record({ ...event, aid, change: entry?.change ?? known });
    }
  };
  // The outcome is recorded before the result is printed.
  let result: Result | undefined;
  try {
    result = await run();
  } catch (error) {
    await record('failed');
    throw error;
  }
  await record('success', result?.entry);
  return result;
}
