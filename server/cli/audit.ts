import { userInfo } from 'node:os';
import { version } from '../../package.json';
import type { Session } from '../boot/open.ts';
import type { Command, Result } from './commands/command.ts';

/**
 * Runs a command and writes what became of it into the operator's security log, and into that of the account that it
 * is about. A change that is made and cannot be noted is reported as a failure: it was made all the same.
 */
export const recordedCommand = async (
  { audit }: Command,
  argument: string,
  { vault }: Session,
  run: () => Promise<Result | undefined>,
): Promise<Result | undefined> => {
  if (audit === undefined) {
    return run();
  }
  const accountId = async (): Promise<string | undefined> =>
    audit.account ? (await vault.services.accounts.lookUp(argument))?.aid : undefined;
  const before = await accountId();
  const record = async (outcome: string): Promise<void> => {
    const aid = before ?? (await accountId());
    const note = {
      ...{ action: audit.action, outcome, actor: 'operator', ip: 'local' },
      userAgent: `cardvault-cli/${version} (${userInfo().username})`,
      requestId: vault.randomId(),
      object: audit.account ? `account/${argument}` : undefined,
    };
    await vault.services.audit.record({ ...note, aid: '' });
    if (aid !== undefined) {
      await vault.services.audit.record({ ...note, aid });
    }
  };
  let result: Result | undefined;
  try {
    result = await run();
  } catch (error) {
    await record('failed');
    throw error;
  }
  await record('success');
  return result;
};
