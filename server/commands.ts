import { accountCommands } from './account/command.ts';
import { credentialCommands } from './account/credential/command.ts';
import { personCommands } from './account/person/command.ts';
import { auditCommands } from './audit/command.ts';
import { backupCommand } from './backup/command.ts';
import { restoreCommand } from './backup/restore-command.ts';
import { binCommand } from './bin-table/command.ts';
import type { System } from './boot/assemble.ts';
import type { Session } from './boot/open.ts';
import { argon2Command } from './cli/argon2-command.ts';
import { checkCommand } from './cli/check-command.ts';
import type { Command } from './cli/command.ts';
import { healthCommand } from './cli/health-command.ts';
import { certificateCommand } from './compliance/command.ts';
import type { Config } from './config/config.ts';
import { exportCommand } from './export/command.ts';
import { importCommand } from './import/command.ts';
import { jobCommands } from './job/command.ts';
import { recoveryCommands } from './key/command.ts';
import { compactCommand } from './maintenance/compact-command.ts';
import { rotateCommand } from './maintenance/rotate/command.ts';
import { rotateRootCommand } from './maintenance/rotate/root-command.ts';
import { verifyCommand } from './maintenance/verify/command.ts';
import { eraseCommand } from './vault/command.ts';

/** An open vault with its services and stores, by the names that commands need. */
export type CommandNeeds = System &
  System['stores'] &
  System['services'] & { readonly config: Config; readonly ring: Session['ring'] };

export function needsOf({ vault, config, ring, close }: Session): CommandNeeds {
  return { ...vault, ...vault.stores, ...vault.services, config, ring, close };
}

/** Opens the vault of a configuration for a command, which makes none. Rejects with a `ConfigError` or `StartError`. */
export async function openForCommand(config: Config): Promise<CommandNeeds> {
  // Imported on demand: a help text or a wrong command line does not load the server.
  const { openConfigured } = await import('./boot/open.ts');
  return needsOf(await openConfigured(config, { isExisting: true }));
}

/** All commands, in the order of the help text. A new command is one entry here. */
export const COMMANDS: readonly Command<CommandNeeds>[] = [
  ...accountCommands,
  ...credentialCommands,
  ...personCommands,
  ...jobCommands,
  ...recoveryCommands,
  eraseCommand,
  exportCommand,
  importCommand,
  binCommand,
  certificateCommand,
  backupCommand,
  restoreCommand,
  compactCommand,
  verifyCommand,
  rotateCommand,
  rotateRootCommand,
  argon2Command,
  checkCommand,
  healthCommand,
  ...auditCommands,
];
