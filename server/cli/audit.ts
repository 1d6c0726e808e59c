import { userInfo } from 'node:os';
import { version } from '../../package.json';
import type { Session } from '../boot/open.ts';
import type { Command, Result } from './commands/command.ts';

/**
 * Runs a command and records its outcome in the operator's security log, and in the log of the account that it
 * concerns (PCI DSS 10.2.1.2). A change that cannot be recorded rejects, although it was made.
 */
export async function recordedCommand(
  { audit }: Command,
  argument: string,
  { vault }: Session,
  run: () => Promise<Result | undefined>,
): Promise<Result | undefined> {
  if (audit === undefined) {
    return run();
  }
  const accountId = async (): Promise<string | undefined> =>
    audit.account ? (await vault.services.accounts.lookUp(argument))?.aid : undefined;
  // A deletion removes the account, a creation adds it: the id is known either before or after.
  const before = await accountId();
  const record = async (outcome: string): Promise<void> => {
    const aid = before ?? (await accountId());
    const event = {
      ...{ action: audit.action, outcome, actor: 'operator', ip: 'local' },
      userAgent: `cardvault-cli/${version} (${userInfo().username})`,
      requestId: vault.randomId(),
      object: audit.account ? `account/${argument}` : undefined,
    };
    await vault.services.audit.record({ ...event, aid: '' });
    if (aid !== undefined) {
      await vault.services.audit.record({ ...event, aid });
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
  await record('success');
  return result;
}
