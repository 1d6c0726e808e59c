import { backupCommands } from './backup/backup.ts';
import { restoreCommands } from './backup/restore.ts';
import { accountCommands } from './commands/account.ts';
import { argon2Commands } from './commands/argon2.ts';
import { auditCommands } from './commands/audit.ts';
import { binCommands } from './commands/bin.ts';
import { certificateCommands } from './commands/certificate.ts';
import type { Command } from './commands/command.ts';
import { compactCommands } from './commands/compact.ts';
import { healthCommands } from './commands/health.ts';
import { rotateCommands } from './commands/rotate.ts';
import { verifyCommands } from './commands/verify.ts';

/** All commands, in the order of the help text. A new command is one entry here. */
export const COMMANDS: readonly Command[] = [
  ...accountCommands,
  ...binCommands,
  ...certificateCommands,
  ...backupCommands,
  ...restoreCommands,
  ...compactCommands,
  ...verifyCommands,
  ...rotateCommands,
  ...argon2Commands,
  ...healthCommands,
  ...auditCommands,
];
